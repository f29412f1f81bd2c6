import { settleUsage } from '../../src/features/metering/settle.ts'
import type { Application } from '../../src/wiring/application.ts'

type Deps = Pick<Application, 'db' | 'clock' | 'prices' | 'log'>

/** Settles at a time that is trusted, although the test's clock may have been advanced by days. */
export async function settleTrusted(deps: Deps): Promise<void> {
  await deps.db.deleteFrom('settlement_clock').execute()
  await settleUsage(deps)
}
