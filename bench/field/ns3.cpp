// Runs the routes of a plan over ns-3's IEEE 802.15.4 model (lr-wpan: CSMA/CA, acknowledgements, retries, a shared channel) and
// counts frames. ns-3 3.37 has no energy model for it, so the caller multiplies the counts by the energy of a frame.
//
// stdin:  NODES STOPS ROUNDS PERIOD, then for each node X Y PARENT STOP PACKETS (PARENT -1 sends to the sink at STOP), then for each
//         stop X Y. Metres and seconds.
// stdout: for each node the data frames sent (repetitions included), data frames received, acknowledgements sent and
//         received; then a line with the packets made and delivered.
//
// A sink waits at every stop all the time: when a packet is uploaded does not change who sends it.
#include <ns3/constant-position-mobility-model.h>
#include <ns3/core-module.h>
#include <ns3/lr-wpan-module.h>
#include <ns3/network-module.h>

#include <cstring>
#include <deque>
#include <iostream>
#include <set>
#include <vector>

using namespace ns3;

static const uint32_t payload = 114; // bytes; with 13 of MAC header and checksum the longest frame there is
static const int attempts = 16;      // of a packet, each with the retries of the MAC

struct Station {
    Ptr<LrWpanNetDevice> device;
    int parent = -1, stop = -1, packets = 0;
    bool sink = false;
    std::deque<uint32_t> waiting; // numbers of packets; the first is under way when busy
    std::set<uint32_t> seen;      // packets received: a repetition whose acknowledgement was lost is dropped
    bool busy = false;
    int tries = 0;
    long sent = 0, received = 0, acksSent = 0, acksReceived = 0;
};

static std::vector<Station> stations;
static long made = 0, delivered = 0, lost = 0;
static int nodes = 0;

static Mac16Address addressOf(int station) {
    uint8_t bytes[2] = {uint8_t((station + 1) >> 8), uint8_t(station + 1)};
    Mac16Address address;
    address.CopyFrom(bytes);
    return address;
}

static void transmit(int i) {
    Station &s = stations[i];
    if (s.busy || s.waiting.empty())
        return;
    s.busy = true;
    uint8_t bytes[payload] = {};
    std::memcpy(bytes, &s.waiting.front(), sizeof(uint32_t));
    McpsDataRequestParams params;
    params.m_srcAddrMode = SHORT_ADDR;
    params.m_dstAddrMode = SHORT_ADDR;
    params.m_dstPanId = 0;
    params.m_dstAddr = addressOf(s.parent >= 0 ? s.parent : nodes + s.stop);
    params.m_msduHandle = 0;
    params.m_txOptions = TX_OPTION_ACK;
    s.device->GetMac()->McpsDataRequest(params, Create<Packet>(bytes, payload));
}

static void confirm(int i, McpsDataConfirmParams params) {
    Station &s = stations[i];
    s.busy = false;
    bool ok = params.m_status == IEEE_802_15_4_SUCCESS;
    if (ok)
        s.acksReceived++;
    if (ok || ++s.tries == attempts) {
        lost += !ok;
        s.waiting.pop_front();
        s.tries = 0;
    }
    Simulator::ScheduleNow(&transmit, i);
}

static void hold(int i, uint32_t number) {
    stations[i].waiting.push_back(number);
    transmit(i);
}

static void make(int i) {
    hold(i, made++);
}

static void indicate(int i, McpsDataIndicationParams, Ptr<Packet> packet) {
    Station &s = stations[i];
    s.received++;
    uint8_t bytes[payload];
    packet->CopyData(bytes, payload);
    uint32_t number;
    std::memcpy(&number, bytes, sizeof number);
    if (!s.seen.insert(number).second)
        return;
    if (s.sink)
        delivered++;
    else
        hold(i, number);
}

static void onAir(int i, Ptr<const Packet> packet) {
    (packet->GetSize() > payload ? stations[i].sent : stations[i].acksSent)++;
}

int main() {
    int stops, rounds;
    double period;
    std::cin >> nodes >> stops >> rounds >> period;
    NodeContainer all;
    all.Create(nodes + stops);
    stations.resize(nodes + stops);
    for (int i = 0; i < nodes + stops; i++) {
        Station &s = stations[i];
        double x, y;
        std::cin >> x >> y;
        if (i < nodes)
            std::cin >> s.parent >> s.stop >> s.packets;
        s.sink = i >= nodes;
        auto place = CreateObject<ConstantPositionMobilityModel>();
        place->SetPosition(Vector(x, y, 0));
        all.Get(i)->AggregateObject(place);
    }
    if (!std::cin) {
        std::cerr << "bad input\n";
        return 1;
    }
    RngSeedManager::SetSeed(1);
    LrWpanHelper helper;
    NetDeviceContainer devices = helper.Install(all);
    helper.AssociateToPan(devices, 0);
    for (int i = 0; i < nodes + stops; i++) {
        Ptr<LrWpanNetDevice> device = DynamicCast<LrWpanNetDevice>(devices.Get(i));
        stations[i].device = device;
        device->GetMac()->SetShortAddress(addressOf(i));
        device->GetMac()->SetMcpsDataConfirmCallback(MakeBoundCallback(&confirm, i));
        device->GetMac()->SetMcpsDataIndicationCallback(MakeBoundCallback(&indicate, i));
        device->GetPhy()->TraceConnectWithoutContext("PhyTxBegin", MakeBoundCallback(&onAir, i));
    }
    Ptr<UniformRandomVariable> random = CreateObject<UniformRandomVariable>();
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < nodes; i++)
            for (int k = 0; k < stations[i].packets; k++)
                Simulator::Schedule(Seconds((round + random->GetValue()) * period), &make, i);
    Simulator::Stop(Seconds((rounds + 1) * period));
    Simulator::Run();
    for (int i = 0; i < nodes; i++)
        std::cout << stations[i].sent << ' ' << stations[i].received << ' ' << stations[i].acksSent << ' ' << stations[i].acksReceived << '\n';
    std::cout << made << ' ' << delivered << '\n';
    Simulator::Destroy();
}
