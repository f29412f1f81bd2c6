import { page } from '../../routing/page.ts'
import { readText } from '../../routing/search.ts'
import type { RawSearch } from '../../routing/search.ts'

interface ServerSearch {
  /** The id of the organization that is shown */
  organization?: string | undefined
  /** The page of the list of organizations, from 1 */
  page?: string | undefined
}

/** The pages of operators. Few people are, so that the list of views loads with their code. */
export const serverPage = page({
  path: '/server/{-$view}',
  readSearch: ({ organization, page: number }: RawSearch): ServerSearch => ({
    organization: readText(organization),
    page: readText(number),
  }),
  load: () => import('./server-page.tsx'),
  component: 'ServerPage',
})
