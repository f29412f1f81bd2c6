import type { Budget } from '../../contract.ts'

/** The highest percentage reached: 100, or a notified one that still holds after a change of the limit. */
export function findNoticePercent({
  alerts,
  spent,
  monthly_limit: limit,
  exhausted,
}: Pick<Budget, 'alerts' | 'spent' | 'monthly_limit' | 'exhausted'>): number | undefined {
  // The check that records alerts runs every ten seconds.
  if (exhausted) return 100
  const share = (100 * Number(spent)) / Number(limit)
  return alerts.findLast(({ percent }) => share >= percent)?.percent
}
