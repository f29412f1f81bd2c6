import { embeddingModelsQuery, modelsQuery } from '../../domain/models/queries.ts'
import { page } from '../../routing/page.ts'
import { readText, type RawSearch } from '../../routing/search.ts'
import { activeDeploymentsQuery } from './active-deployments-query.ts'

interface PlaygroundSearch {
  /** Comma-separated ids of the selected deployments. */
  deployment?: string | undefined
  tab?: string | undefined
}

export const playgroundPage = page({
  path: '/playground',
  readSearch: ({ deployment, tab }: RawSearch): PlaygroundSearch => ({
    deployment: readText(deployment),
    tab: readText(tab),
  }),
  prefetch: (queryClient) => {
    void queryClient.prefetchQuery(activeDeploymentsQuery)
    void queryClient.prefetchQuery(embeddingModelsQuery)
    void queryClient.prefetchQuery(modelsQuery)
  },
  load: () => import('./playground-page.tsx'),
  component: 'PlaygroundPage',
})
