import { page } from '../../routing/page.ts'
import { readCatalogSearch } from './catalog-search.ts'

export const catalogPage = page({
  path: '/catalog',
  readSearch: readCatalogSearch,
  load: () => import('./catalog-page.tsx'),
  component: 'CatalogPage',
})

export const modelPage = page({
  path: '/catalog/$modelId',
  load: () => import('./model-page.tsx'),
  component: 'ModelPage',
})
