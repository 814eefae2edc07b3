"""Extracts stations.csv from the station list of Debian's package weather-util-data.

usage: python extract.py < /usr/share/weather-util/stations.gz > stations.csv
"""
import gzip
import math
import re
import sys

name, rows = None, []
for line in gzip.open(sys.stdin.buffer, "rt", encoding="utf-8"):
    if head := re.match(r"\[(\w+)\]", line):
        name = head[1]
    elif place := re.match(r"location = \(([-\d.]+), ([-\d.]+)\)", line):
        lat, lon = (math.degrees(float(v)) for v in place.groups())  # the list is in radians
        if 40 <= lat <= 46 and -98 <= lon <= -88:
            rows.append((name.upper(), lat, lon))
print("id,lat,lon")
for name, lat, lon in sorted(rows):
    print(f"{name},{lat:.4f},{lon:.4f}")
