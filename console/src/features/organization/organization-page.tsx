import { useSuspenseQuery } from '@tanstack/react-query'
import { useNavigate, useSearch } from '@tanstack/react-router'
import { UserPlus } from 'lucide-react'
import type { ReactNode } from 'react'
import { organizationQuery, useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Page } from '../../components/page.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { text } from '../../text/index.ts'
import { AlertSettings } from './alerts/alert-settings.tsx'
import { AuditLog } from './audit/audit-log.tsx'
import { InvitationList } from './invitation-list.tsx'
import { InviteDialog } from './invite-dialog.tsx'
import { MemberTable } from './member-table.tsx'
import { OrganizationSettings } from './organization-settings.tsx'
import { ServiceMembersSection } from './service-members/service-members-section.tsx'
import { SignInSettings } from './sign-in-settings.tsx'

type Tab = keyof typeof text.organization.tabs

/** Members, invitations, settings and audit log of the current organization. */
export function OrganizationPage() {
  const { data: organization } = useSuspenseQuery(organizationQuery)
  const { tab: wanted, invite } = useSearch({ from: '/app/organization' })
  const navigate = useNavigate({ from: '/organization' })
  const can = useCan()
  const mayInvite = can('manageInvitations')

  const allowed: Tab[] = [
    'members',
    ...(mayInvite ? (['invitations'] as const) : []),
    'settings',
    ...(can('readAuditLog') ? (['audit'] as const) : []),
  ]
  const tab = allowed.find((name) => name === wanted) ?? 'members'
  const show = (tab: Tab, inviting = false) =>
    void navigate({ search: { tab, invite: inviting ? 'yes' : undefined }, replace: true })
  const startInviting = () => show(tab, true)

  const contents: Record<Tab, ReactNode> = {
    members: can('manageMembers') ? (
      <div className="grid gap-6">
        <MemberTable services={false} />
        <ServiceMembersSection />
      </div>
    ) : (
      <MemberTable services />
    ),
    invitations: <InvitationList onInvite={startInviting} />,
    settings: (
      <div className="grid gap-6">
        <OrganizationSettings organization={organization} />
        <SignInSettings organization={organization} />
        {can('updateOrganization') && <AlertSettings />}
      </div>
    ),
    audit: <AuditLog />,
  }

  return (
    // The key discards drafts and dialogs when the organization changes.
    <Page
      key={organization.id}
      title={text.pages.organization.title}
      description={organization.description && <p className="line-clamp-2">{organization.description}</p>}
      actions={
        mayInvite && (
          <Button variant="primary" onClick={startInviting}>
            <UserPlus aria-hidden />
            {text.organization.invite}
          </Button>
        )
      }
    >
      <Tabs
        label={text.pages.organization.title}
        value={tab}
        onValueChange={(next) => show(next)}
        tabs={allowed.map((value) => ({
          value,
          label: text.organization.tabs[value],
          content: contents[value],
        }))}
      />
      {mayInvite && (
        <InviteDialog
          open={invite === 'yes'}
          onClose={() => show(tab)}
          onSent={() => show('invitations')}
          onSeeMembers={() => show('members')}
        />
      )}
    </Page>
  )
}
