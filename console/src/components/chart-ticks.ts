/** Round numbers from 0 up to at least `max`, about four steps apart; only whole numbers for counts. */
export function listTicks(max: number, whole = false): number[] {
  if (!(max > 0)) return [0, 1]
  const rough = max / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const exact = power * ([1, 2, 2.5, 5, 10].find((factor) => factor * power >= rough * (1 - 1e-9)) ?? 10)
  const step = whole ? Math.ceil(exact) : exact
  const count = Math.max(1, Math.ceil(max / step - 1e-9))
  // Multiplying a power of ten leaves digits such as 0.30000000000000004.
  return Array.from({ length: count + 1 }, (_, index) => Number((index * step).toPrecision(12)))
}

/**
 * The first of the places that has a label, if every `step`th has one: so that the labels are round times,
 * such as 5:30 and 5:40. 0 if none is round, or without times.
 */
export function findFirstLabel(times: readonly string[], step: number): number {
  const [first, second] = times.map((time) => Date.parse(time))
  if (first === undefined || second === undefined) return 0
  const distance = (step * (second - first)) / 60_000
  const isRound = (time: string) => {
    const date = new Date(time)
    return (date.getHours() * 60 + date.getMinutes()) % distance === 0
  }
  return Math.max(0, times.slice(0, step).findIndex(isRound))
}
