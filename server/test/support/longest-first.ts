import { BaseSequencer } from 'vitest/node'
import type { TestSpecification } from 'vitest/node'

/** Parts of the paths of the files that take longest. */
const longest = [
  '/faults/process-roles',
  '/chaos/billing-kill',
  '/chaos/component-kill',
  '/chaos/alert-kill',
  '/faults/api-processes',
  '/console/test/failures',
  '/console/test/accessibility',
  '/flows/operators',
  '/model-deployments/sleep',
  '/console/test/sleep',
  '/console/test/interaction',
  '/http/hostile-requests',
  '/faults/process.test',
  '/chaos/kill-loop',
  '/xinference/deployments',
  '/adapters/local-runtime-engines',
  '/faults/frozen-database',
]

/**
 * Starts the longest files of each project first. Otherwise a worker that takes one of them last runs alone
 * at the end.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- not an array's method
    const sorted = await super.sort(files)
    return sorted.toSorted((one, other) => rankOf(one) - rankOf(other))
  }
}

function rankOf({ moduleId }: TestSpecification): number {
  const index = longest.findIndex((part) => moduleId.includes(part))
  return index === -1 ? longest.length : index
}
