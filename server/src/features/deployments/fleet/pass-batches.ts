import { Batches } from '../../../database/batches.ts'
import type { Database } from '../../../database/tables.ts'
import { listBudgetsOf } from '../../billing/budgets/budget-limits.ts'
import type { OrganizationBudgets } from '../../billing/budgets/budget-limits.ts'
import { changeDeployments } from '../state/change-store.ts'
import type { DeploymentChange } from '../state/change-store.ts'
import { releaseLeases } from './lease-store.ts'
import type { LeaseRelease } from './lease-store.ts'
import { listStartEvents } from '../state/store.ts'
import type { Deployment, DeploymentEvent } from '../state/store.ts'

/** Long enough to gather many passes, and short beside the start of an engine. */
const intervalMilliseconds = 20

/** The queries of the passes of one worker. Those of one moment go to the database together. */
export interface PassBatches {
  /** Changes a deployment; undefined if another writer changed it first */
  changes: Batches<DeploymentChange, Deployment | undefined>
  /** Ends a pass; true if the deployment is due again already */
  releases: Batches<LeaseRelease, boolean>
  /** Finds the events of a deployment's last start by its id */
  startEvents: Batches<string, DeploymentEvent[]>
  /** Finds the budgets of an organization by its id */
  budgets: Batches<number, OrganizationBudgets>
}

export function createPassBatches(db: Database): PassBatches {
  return {
    changes: new Batches((changes) => changeDeployments(db, changes), intervalMilliseconds),
    releases: new Batches((releases) => releaseLeases(db, releases), intervalMilliseconds),
    startEvents: new Batches((ids) => listStartEvents(db, ids), intervalMilliseconds),
    budgets: new Batches((ids) => listBudgetsOf(db, ids), intervalMilliseconds),
  }
}
