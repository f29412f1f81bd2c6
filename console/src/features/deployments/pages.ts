import { Boxes } from 'lucide-react'
import { deploymentsQuery } from '../../domain/deployments/queries.ts'
import { page } from '../../routing/page.ts'
import { readText } from '../../routing/search.ts'
import type { RawSearch } from '../../routing/search.ts'
import { text } from '../../text/index.ts'
import { toFilter } from './list-search.ts'
import type { ListSearch } from './list-search.ts'

export const deploymentsPage = page({
  path: '/deployments',
  readSearch: ({ team, show, page }: RawSearch): ListSearch => ({
    team: team === 'yes' ? 'yes' : undefined,
    show: show === 'all' ? 'all' : undefined,
    page: readText(page),
  }),
  heading: text.pages.deployments,
  frame: 'member',
  navigation: { icon: Boxes },
  prefetch: (queryClient, search) => void queryClient.prefetchQuery(deploymentsQuery(toFilter(search))),
  load: () => import('./deployments-page.tsx'),
  component: 'DeploymentsPage',
})

export interface DeploymentSearch {
  tab?: string | undefined
  /** `yes` opens the dialog to terminate the deployment. */
  terminate?: 'yes' | undefined
}

export const deploymentPage = page({
  path: '/deployments/$deploymentId',
  readSearch: ({ tab, terminate }: RawSearch): DeploymentSearch => ({
    tab: readText(tab),
    terminate: terminate === 'yes' ? 'yes' : undefined,
  }),
  load: () => import('./deployment-page.tsx'),
  component: 'DeploymentPage',
})
