import type { Tone } from '../../../components/badge.tsx'
import type { Endpoint } from '../../../contract.ts'

/** The colors of what checks find. */
export const tones: Record<Endpoint['status'], Tone> = {
  ready: 'good',
  unreachable: 'warn',
  refused: 'bad',
  invalid: 'bad',
}
