/** The usage of some days beside that of as many days before. */
export const comparison = {
  amounts: (now: string, before: string, days: number) =>
    `${now} in these ${days} days, ${before} in the ${days} days before.`,
  change: (change: number, percent: string) =>
    Math.abs(change) < 0.005 ? 'No change.' : `${percent} ${change > 0 ? 'more' : 'less'}.`,
  before: (amount: string) => `${amount} before`,
}
