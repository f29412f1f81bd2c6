import { deploymentsQuery } from '../../domain/deployments/queries.ts'
import { page } from '../../routing/page.ts'
import { readText, type RawSearch } from '../../routing/search.ts'
import { toFilter, type ListSearch } from './list-search.ts'

export const deploymentsPage = page({
  path: '/deployments',
  readSearch: ({ show, page }: RawSearch): ListSearch => ({
    show: show === 'all' ? 'all' : undefined,
    page: readText(page),
  }),
  prefetch: (queryClient, search) => void queryClient.prefetchQuery(deploymentsQuery(toFilter(search))),
  load: () => import('./deployments-page.tsx'),
  component: 'DeploymentsPage',
})

export const deploymentPage = page({
  path: '/deployments/$deploymentId',
  readSearch: ({ tab }: RawSearch): { tab?: string | undefined } => ({ tab: readText(tab) }),
  load: () => import('./deployment-page.tsx'),
  component: 'DeploymentPage',
})
