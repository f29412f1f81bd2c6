import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Bot, Mail, ScrollText, Settings, UserPlus, UserRound, Users } from 'lucide-react'
import type { LucideIcon } from 'lucide-react'
import { useCan } from '../../api/session.ts'
import type { Command } from '../../components/command.ts'
import { text } from '../../text/index.ts'
import { membersQuery } from '../../domain/members/queries.ts'

const { tabs } = text.organization

/** Commands that open a part of the organization's page or a member, and the invite dialog. */
export function useOrganizationCommands(): Command[] {
  const navigate = useNavigate()
  const can = useCan()
  const { data: members = [] } = useQuery(membersQuery)
  const show = (tab: keyof typeof tabs, icon: LucideIcon, keywords = ''): Command => ({
    group: 'pages',
    id: `organization ${tab}`,
    icon,
    label: tab === 'settings' ? text.organization.settings : tabs[tab],
    keywords: `${text.pages.organization.title} ${keywords}`,
    searchOnly: true,
    run: () => navigate({ to: '/organization', search: { tab } }),
  })
  const invite: Command = {
    group: 'actions',
    id: 'invite',
    icon: UserPlus,
    label: text.palette.invite,
    run: () => navigate({ to: '/organization', search: { invite: 'yes' } }),
  }
  return [
    show('people', Users, text.organization.peopleWords),
    ...(can('manageMembers') ? [show('programs', Bot, text.organization.programWords)] : []),
    ...(can('manageInvitations') ? [invite, show('invitations', Mail)] : []),
    show('settings', Settings, text.secondFactors.require),
    ...(can('readAuditLog') ? [show('audit', ScrollText)] : []),
    ...members.map(({ id, name, email }): Command => ({
      group: 'members',
      id: String(id),
      icon: UserRound,
      label: name,
      keywords: email,
      hint: email,
      searchOnly: true,
      run: () => navigate({ to: '/organization', search: { tab: 'people', q: email } }),
    })),
  ]
}
