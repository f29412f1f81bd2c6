import { Users } from 'lucide-react'
import { page } from '../../routing/page.ts'
import { readText } from '../../routing/search.ts'
import type { RawSearch } from '../../routing/search.ts'
import { text } from '../../text/index.ts'

interface OrganizationSearch {
  tab?: string | undefined
  /** `yes` opens the invite dialog. */
  invite?: 'yes' | undefined
  /** Finds people by name or email. */
  q?: string | undefined
}

export const organizationPage = page({
  path: '/organization',
  readSearch: ({ tab, invite, q }: RawSearch): OrganizationSearch => ({
    tab: readText(tab),
    invite: invite === 'yes' ? 'yes' : undefined,
    q: readText(q),
  }),
  heading: text.pages.organization,
  navigation: { icon: Users },
  load: () => import('./organization-page.tsx'),
  component: 'OrganizationPage',
})
