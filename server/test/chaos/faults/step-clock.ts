// Loaded before a server process: SIGUSR2 sets its clock an hour forward, and the next one back.
const RealDate = Date
const now = RealDate.now.bind(RealDate)
const hour = 3_600_000
let step = 0

globalThis.Date = class extends RealDate {
  constructor(...given: [] | [number]) {
    if (given.length === 0) super(now() + step)
    else super(...given)
  }
  static override now = () => now() + step
} as DateConstructor

process.on('SIGUSR2', () => (step = step === 0 ? hour : 0))
