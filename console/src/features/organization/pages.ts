import { page } from '../../routing/page.ts'
import { readText, type RawSearch } from '../../routing/search.ts'

interface OrganizationSearch {
  tab?: string | undefined
  /** `yes` opens the invite dialog. */
  invite?: 'yes' | undefined
}

export const organizationPage = page({
  path: '/organization',
  readSearch: ({ tab, invite }: RawSearch): OrganizationSearch => ({
    tab: readText(tab),
    invite: invite === 'yes' ? 'yes' : undefined,
  }),
  load: () => import('./organization-page.tsx'),
  component: 'OrganizationPage',
})
