// Reads a QGroundControl .plan and prints each item as a MISSION_ITEM_INT payload in hexadecimal, encoded by node-mavlink.
//
// usage: node planfile.mjs FILE      (npm install node-mavlink)
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

const require = createRequire(process.cwd() + '/')
const { MavLinkProtocolV2, common } = require('node-mavlink')
const plan = JSON.parse(readFileSync(process.argv[2], 'utf8'))
for (const item of plan.mission.items) {
  const m = new common.MissionItemInt()
  Object.assign(m, { targetSystem: 1, targetComponent: 1, seq: item.doJumpId, frame: item.frame, command: item.command, current: 0, missionType: 0 })
  m.autocontinue = item.autoContinue ? 1 : 0
  const [a, b, c, d, lat, lon, alt] = item.params.map(v => (v === null ? NaN : v))
  Object.assign(m, { param1: a, param2: b, param3: c, param4: d, _param1: a, _param2: b, _param3: c, _param4: d })
  Object.assign(m, { x: Math.round(lat * 1e7), y: Math.round(lon * 1e7), z: alt })
  const frame = new MavLinkProtocolV2(255, 0).serialize(m, 0)
  const payload = Buffer.alloc(38)
  frame.copy(payload, 0, 10, 10 + frame[1])
  console.log(payload.toString('hex'))
}
