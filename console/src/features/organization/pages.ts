import { Users } from 'lucide-react'
import { page } from '../../routing/page.ts'
import { readDay, readText } from '../../routing/search.ts'
import type { RawSearch } from '../../routing/search.ts'
import { text } from '../../text/index.ts'
import type { PeopleSearch } from './people/people-search.ts'

/** The filters of the audit log, as typed in the address */
export interface AuditSearch {
  action?: string | undefined
  /** The user id of the person */
  actor?: string | undefined
  /** First and last day, as in `2026-01-31`, in the person's time zone */
  from?: string | undefined
  to?: string | undefined
}

interface OrganizationSearch extends PeopleSearch, AuditSearch {
  tab?: string | undefined
  /** `yes` opens the invite dialog. */
  invite?: 'yes' | undefined
  /** `yes` opens the dialog that adds a program, on the tab of programs. */
  add?: 'yes' | undefined
}

export const organizationPage = page({
  path: '/organization',
  readSearch: (search: RawSearch): OrganizationSearch => ({
    tab: readText(search.tab),
    invite: search.invite === 'yes' ? 'yes' : undefined,
    add: search.add === 'yes' ? 'yes' : undefined,
    q: readText(search.q),
    role: readText(search.role),
    kind: readText(search.kind),
    sort: readText(search.sort),
    page: readText(search.page),
    action: readText(search.action),
    actor: readText(search.actor),
    from: readDay(search.from),
    to: readDay(search.to),
  }),
  heading: text.pages.organization,
  frame: 'member',
  navigation: { icon: Users },
  load: () => import('./organization-page.tsx'),
  component: 'OrganizationPage',
})
