const hourMilliseconds = 3_600_000

/** The start of a moment's UTC hour. */
export function floorHour(moment: Date): Date {
  return new Date(Math.floor(moment.getTime() / hourMilliseconds) * hourMilliseconds)
}

/** The start of a moment's UTC month. */
export function floorMonth(moment: Date): Date {
  return new Date(Date.UTC(moment.getUTCFullYear(), moment.getUTCMonth()))
}

export function addHours(moment: Date, hours: number): Date {
  return new Date(moment.getTime() + hours * hourMilliseconds)
}

export function isWholeHour(moment: Date): boolean {
  return moment.getTime() % hourMilliseconds === 0
}

export function earliest(...moments: (Date | null)[]): Date {
  const times = moments.flatMap((moment) => moment?.getTime() ?? [])
  return new Date(Math.min(...times))
}

export function latest(...moments: Date[]): Date {
  return new Date(Math.max(...moments.map((moment) => moment.getTime())))
}
