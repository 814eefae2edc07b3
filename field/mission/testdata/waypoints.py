"""Reads a "QGC WPL 110" file with pymavlink and prints each item as a MISSION_ITEM_INT payload in hexadecimal.

usage: python waypoints.py FILE      (pip install pymavlink)
"""
import sys

from pymavlink import mavwp
from pymavlink.dialects.v20 import common as mavlink

loader = mavwp.MAVWPLoader()
loader.load(sys.argv[1])
link = mavlink.MAVLink(None, srcSystem=255, srcComponent=0)
for i in range(loader.count()):
    w = loader.wp(i)
    message = mavlink.MAVLink_mission_item_int_message(
        1, 1, w.seq, w.frame, w.command, w.current, w.autocontinue, w.param1, w.param2, w.param3, w.param4,
        round(w.x * 1e7), round(w.y * 1e7), w.z, 0)
    frame = message.pack(link)
    payload = bytes(frame[10:10 + frame[1]])  # MAVLink 2 leaves out zeros at the end
    print(payload.ljust(38, b"\0").hex())
