import { QueryClient, QueryObserver } from '@tanstack/react-query'
import { expect, test, vi } from 'vitest'
import type { DeploymentStatistics, DeploymentUsage } from '../../contract.ts'
import { deploymentUsageQuery, statisticsQuery } from './queries.ts'

test.each([
  { of: 'cost', query: (ended: boolean) => deploymentUsageQuery('one', ended) },
  { of: 'statistics', query: (ended: boolean) => statisticsQuery('one', '1h', ended) },
])(
  '$of of a deployment that ends: fetched once more, with the old data shown meanwhile',
  async ({ query }) => {
    let requests = 0
    const options = (ended: boolean) => ({
      ...(query(ended) as ReturnType<typeof deploymentUsageQuery>),
      queryFn: async () => ({ requests: (requests += 1) }) as DeploymentUsage & DeploymentStatistics,
    })
    const observer = new QueryObserver(new QueryClient(), options(false))
    const leave = observer.subscribe(() => {})
    const shown = () => observer.getCurrentResult().data?.requests
    await vi.waitFor(() => expect(shown()).toBe(1))
    observer.setOptions(options(true))
    expect(shown()).toBe(1)
    await vi.waitFor(() => expect(shown()).toBe(2))
    leave()
  },
)
