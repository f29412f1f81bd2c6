import type { StatisticsWindow } from '../../contract.ts'

export const statisticsWindows = [
  '15m',
  '1h',
  '24h',
  '7d',
  '30d',
] as const satisfies readonly StatisticsWindow[]
