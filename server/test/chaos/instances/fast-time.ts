// Loaded before a server process: its time runs `FAST_TIME_FACTOR` times as fast since `FAST_TIME_EPOCH`, for
// clocks and for timers.
import { syncBuiltinESMExports } from 'node:module'
import timers from 'node:timers/promises'
import { toFastTime } from './to-fast-time.ts'

const factor = Number(process.env['FAST_TIME_FACTOR'])
const epoch = Number(process.env['FAST_TIME_EPOCH'])
const SlowDate = Date
const { setTimeout: wait, setInterval: repeat } = globalThis
const { setTimeout: delay } = timers
const elapsed = performance.now.bind(performance)
let step = 0

const now = () => Math.floor(toFastTime(SlowDate.now(), { factor, epoch })) + step

globalThis.Date = class extends SlowDate {
  constructor(...given: [] | [number]) {
    if (given.length === 0) super(now())
    else super(...given)
  }
  static override now = now
} as DateConstructor
performance.now = () => elapsed() * factor
const shorten = <Timer extends typeof wait | typeof repeat>(start: Timer): Timer =>
  Object.assign(
    (run: () => void, milliseconds = 0, ...given: []) => start(run, milliseconds / factor, ...given),
    start,
  )
globalThis.setTimeout = shorten(wait)
globalThis.setInterval = shorten(repeat)
timers.setTimeout = (milliseconds = 0, ...given) => delay(milliseconds / factor, ...given)
syncBuiltinESMExports()

// The parent sets the clock of this process forward or back.
process.on('message', (message: { step?: number }) => (step += message.step ?? 0))
