import { page } from '../../routing/page.ts'
import { readText, type RawSearch } from '../../routing/search.ts'

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
  load: () => import('./playground-page.tsx'),
  component: 'PlaygroundPage',
})
