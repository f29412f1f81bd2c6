import type { Deployment } from '../state/store.ts'
import type { Refusal } from '../state/tables.ts'

/** The columns of a deployment after another refusal in a row. */
export function addRefusal({ refusals }: Pick<Deployment, 'refusals'>, refusal: Refusal, at: Date) {
  return { refusal, refusals: refusals + 1, refused_at: at }
}
