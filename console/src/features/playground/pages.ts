import { MessagesSquare } from 'lucide-react'
import { modelsQuery } from '../../domain/models/queries.ts'
import { page } from '../../routing/page.ts'
import { readText } from '../../routing/search.ts'
import type { RawSearch } from '../../routing/search.ts'
import { text } from '../../text/index.ts'
import { activeDeploymentsQuery } from './active-deployments-query.ts'

interface PlaygroundSearch {
  /** Comma-separated ids of the selected deployments; `id:adapter` for a LoRA. */
  deployment?: string | undefined
  tab?: string | undefined
}

export const playgroundPage = page({
  path: '/playground',
  readSearch: ({ deployment, tab }: RawSearch): PlaygroundSearch => ({
    deployment: readText(deployment),
    tab: readText(tab),
  }),
  heading: text.pages.playground,
  frame: 'member',
  navigation: { icon: MessagesSquare },
  prefetch: (queryClient) => {
    void queryClient.prefetchQuery(activeDeploymentsQuery)
    void queryClient.prefetchQuery(modelsQuery)
  },
  load: () => import('./playground-page.tsx'),
  component: 'PlaygroundPage',
})
