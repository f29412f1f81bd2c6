import { useSuspenseQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { UserPlus } from 'lucide-react'
import { Suspense } from 'react'
import type { ComponentType } from 'react'
import { organizationQuery, useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Page } from '../../components/page.tsx'
import { Skeleton } from '../../components/states.tsx'
import { Tabs } from '../../components/tabs.tsx'
import type { Organization } from '../../contract.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { PeopleTab } from './people/people-tab.tsx'

type Tab = keyof typeof text.organization.tabs

interface ContentProps {
  organization: Organization
  onInvite: () => void
}

// Most visits see people only.
const contents: Record<Tab, ComponentType<ContentProps>> = {
  people: PeopleTab,
  programs: lazyPart(() => import('./service-members/programs-tab.tsx').then((module) => module.ProgramsTab)),
  teams: lazyPart(() => import('./teams/teams-section.tsx').then((module) => module.TeamsSection)),
  endpoints: lazyPart(() =>
    import('./endpoints/endpoints-section.tsx').then((module) => module.EndpointsSection),
  ),
  invitations: lazyPart(() => import('./invitation-list.tsx').then((module) => module.InvitationList)),
  settings: lazyPart(() => import('./settings-tab.tsx').then((module) => module.SettingsTab)),
  audit: lazyPart(() => import('./audit/audit-log.tsx').then((module) => module.AuditLog)),
}
const InviteDialog = lazyPart(() => import('./invite-dialog.tsx').then((module) => module.InviteDialog))

/** People, programs, invitations, settings and audit log of the current organization. */
export function OrganizationPage() {
  const { data: organization } = useSuspenseQuery(organizationQuery)
  const { tab: wanted, invite } = useSearch({ from: '/app/organization' })
  const navigate = useNavigate({ from: '/organization' })
  const can = useCan()
  const mayInvite = can('manageInvitations')

  const allowed: Tab[] = [
    'people',
    ...(can('manageMembers') ? (['programs', 'teams'] as const) : []),
    ...(can('manageModels') ? (['endpoints'] as const) : []),
    ...(mayInvite ? (['invitations'] as const) : []),
    'settings',
    ...(can('readAuditLog') ? (['audit'] as const) : []),
  ]
  const tab = allowed.find((name) => name === wanted) ?? 'people'
  const show = (tab: Tab) => void navigate({ search: { tab } })
  // Replaces the entry of the dialog in the history.
  const leaveDialog = (tab: Tab, q?: string) => void navigate({ search: { tab, q }, replace: true })
  const setInviting = (inviting: boolean) =>
    void navigate({
      search: (before) => ({ ...before, invite: inviting ? 'yes' : undefined }),
      replace: true,
      resetScroll: false,
    })
  const startInviting = () => setInviting(true)

  return (
    // The key discards drafts and dialogs when the organization changes.
    <Page
      key={organization.id}
      title={text.pages.organization.title}
      description={organization.description && <p className="line-clamp-2">{organization.description}</p>}
      actions={
        <>
          {can('manageMembers') && (
            <Button onClick={() => void navigate({ search: { tab: 'programs', add: 'yes' } })}>
              {text.people.addProgram}
            </Button>
          )}
          {mayInvite && (
            <Button variant="primary" onClick={startInviting}>
              <UserPlus aria-hidden />
              {text.organization.invite}
            </Button>
          )}
        </>
      }
    >
      <Tabs
        label={text.pages.organization.title}
        value={tab}
        onValueChange={show}
        tabs={allowed.map((value) => ({
          value,
          label: text.organization.tabs[value],
          content: <TabContent tab={value} organization={organization} onInvite={startInviting} />,
        }))}
      />
      {mayInvite && invite === 'yes' && (
        <Suspense>
          <InviteDialog
            onClose={() => setInviting(false)}
            onSent={() => leaveDialog('invitations')}
            onSeeMember={(email) => leaveDialog('people', email)}
          />
        </Suspense>
      )}
    </Page>
  )
}

function TabContent({ tab, ...props }: ContentProps & { tab: Tab }) {
  const Content = contents[tab]
  return (
    <Suspense fallback={<Skeleton className="h-96 rounded-xl" />}>
      <Content {...props} />
    </Suspense>
  )
}
