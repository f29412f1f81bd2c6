import type { Deployment } from './store.ts'
import type { Refusal } from './tables.ts'

/** The columns of a deployment after another refusal in a row. */
export function addRefusal({ refusals }: Pick<Deployment, 'refusals'>, refusal: Refusal, at: Date) {
  return { refusal, refusals: refusals + 1, refused_at: at }
}
