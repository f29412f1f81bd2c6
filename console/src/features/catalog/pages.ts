import { Library } from 'lucide-react'
import { deploymentsQuery } from '../../domain/deployments/queries.ts'
import { modelsQuery, placementsQuery } from '../../domain/models/queries.ts'
import { page } from '../../routing/page.ts'
import { text } from '../../text/index.ts'
import { readCatalogSearch } from './catalog-search.ts'
import { modelQuery } from './queries.ts'

export const catalogPage = page({
  path: '/catalog',
  readSearch: readCatalogSearch,
  heading: text.pages.catalog,
  frame: 'member',
  navigation: { icon: Library },
  prefetch: (queryClient) => {
    void queryClient.prefetchQuery(modelsQuery)
    void queryClient.prefetchQuery(placementsQuery)
  },
  load: () => import('./catalog-page.tsx'),
  component: 'CatalogPage',
})

export const modelPage = page({
  path: '/catalog/$modelId',
  frame: 'member',
  prefetch: (queryClient, _search, { modelId }) => {
    void queryClient.prefetchQuery(modelQuery(modelId))
    void queryClient.prefetchQuery(deploymentsQuery({ all: false, page: 1 }))
    void queryClient.prefetchQuery(placementsQuery)
  },
  load: () => import('./model-page.tsx'),
  component: 'ModelPage',
})
