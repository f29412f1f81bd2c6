import { invalidField } from '../../../base/errors.ts'
import type { Deployment } from '../state/store.ts'

/** Throws a 422 for a name in a file without the file. */
export function requireManager({
  managed_by: manager,
  managed_name: name,
}: Pick<Deployment, 'managed_by' | 'managed_name'>): void {
  if (manager !== null || name === null) return
  throw invalidField('managed_name', 'Needs `managed_by`, which the deployment does not have.', 'custom')
}
