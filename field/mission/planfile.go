package mission

import (
	"encoding/json"
	"io"
	"math"
)

// The QGroundControl plan format, version 1 (QGroundControl developer guide, "Plan file format").
type (
	planFile struct {
		FileType      string      `json:"fileType"`
		Version       int         `json:"version"`
		GroundStation string      `json:"groundStation"`
		Mission       planMission `json:"mission"`
		GeoFence      planFence   `json:"geoFence"`
		RallyPoints   planRally   `json:"rallyPoints"`
	}
	planMission struct {
		Version     int        `json:"version"`
		Firmware    int        `json:"firmwareType"`
		Vehicle     int        `json:"vehicleType"`
		CruiseSpeed float64    `json:"cruiseSpeed"` // m/s, of planes, rovers and boats
		HoverSpeed  float64    `json:"hoverSpeed"`  // m/s, of copters
		AltMode     int        `json:"globalPlanAltitudeMode"`
		Home        [3]float64 `json:"plannedHomePosition"` // latitude, longitude, altitude above sea level
		Items       []planItem `json:"items"`
	}
	planItem struct {
		Type         string      `json:"type"`
		Command      int         `json:"command"`
		Frame        int         `json:"frame"`
		Params       [7]*float64 `json:"params"` // four parameters, latitude, longitude, altitude
		Altitude     *float64    `json:"Altitude,omitempty"`
		AltitudeMode int         `json:"AltitudeMode,omitempty"`
		AutoContinue bool        `json:"autoContinue"`
		DoJumpID     int         `json:"doJumpId"`
	}
	planFence struct {
		Version  int        `json:"version"`
		Circles  []struct{} `json:"circles"`
		Polygons []struct{} `json:"polygons"`
	}
	planRally struct {
		Version int        `json:"version"`
		Points  []struct{} `json:"points"`
	}
)

// Numbers of MAVLink that the plan file needs.
const (
	autopilotArduPilot  = 3 // MAV_AUTOPILOT_ARDUPILOTMEGA
	altitudeAboveLaunch = 1
)

// mavType is the vehicle's MAV_TYPE.
func (v Vehicle) mavType() int {
	switch v {
	case Plane:
		return 1
	case Rover:
		return 10
	case Boat:
		return 11
	}
	return 2
}

// WritePlanFile writes the tour as a QGroundControl plan.
func (m *Mission) WritePlanFile(w io.Writer, tour int) error {
	t := &m.Plan.Tours[tour]
	items, err := m.items(t)
	if err != nil {
		return err
	}
	home, speed := m.home(t), m.Instance.Sink.Speed
	file := planFile{FileType: "Plan", Version: 1, GroundStation: "millrace",
		Mission: planMission{Version: 2, Firmware: autopilotArduPilot, Vehicle: m.Vehicle.mavType(), CruiseSpeed: speed, HoverSpeed: speed,
			AltMode: altitudeAboveLaunch, Home: [3]float64{home.Lat, home.Lon, m.startAlt(t)}},
		GeoFence:    planFence{Version: 2, Circles: []struct{}{}, Polygons: []struct{}{}},
		RallyPoints: planRally{Version: 2, Points: []struct{}{}}}
	for i, it := range items {
		file.Mission.Items = append(file.Mission.Items, it.planItem(i+1))
	}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(file)
}

func (it item) planItem(id int) planItem {
	out := planItem{Type: "SimpleItem", Command: it.command, Frame: it.frame, AutoContinue: true, DoJumpID: id}
	for i, v := range []float64{it.params[0], it.params[1], it.params[2], it.params[3], it.place.Lat, it.place.Lon, it.alt} {
		if !math.IsNaN(v) {
			out.Params[i] = &v
		}
	}
	if it.placed() {
		out.Altitude, out.AltitudeMode = &it.alt, altitudeAboveLaunch
	}
	return out
}
