import { Users } from 'lucide-react'
import { page } from '../../routing/page.ts'
import { readText } from '../../routing/search.ts'
import type { RawSearch } from '../../routing/search.ts'
import { text } from '../../text/index.ts'
import type { PeopleSearch } from './people/people-search.ts'

interface OrganizationSearch extends PeopleSearch {
  tab?: string | undefined
  /** `yes` opens the invite dialog. */
  invite?: 'yes' | undefined
  /** `yes` opens the dialog that adds a program, on the tab of programs. */
  add?: 'yes' | undefined
}

export const organizationPage = page({
  path: '/organization',
  readSearch: ({ tab, invite, add, q, role, kind, sort, page }: RawSearch): OrganizationSearch => ({
    tab: readText(tab),
    invite: invite === 'yes' ? 'yes' : undefined,
    add: add === 'yes' ? 'yes' : undefined,
    q: readText(q),
    role: readText(role),
    kind: readText(kind),
    sort: readText(sort),
    page: readText(page),
  }),
  heading: text.pages.organization,
  frame: 'member',
  navigation: { icon: Users },
  load: () => import('./organization-page.tsx'),
  component: 'OrganizationPage',
})
