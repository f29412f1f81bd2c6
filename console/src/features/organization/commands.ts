import { useNavigate } from '@tanstack/react-router'
import { UserPlus } from 'lucide-react'
import { useCan } from '../../api/session.ts'
import type { Command } from '../../components/command.ts'
import { text } from '../../text/index.ts'

/** The command that opens the invite dialog. */
export function useOrganizationCommands(): Command[] {
  const navigate = useNavigate()
  const can = useCan()
  if (!can('manageInvitations')) return []
  return [
    {
      group: 'actions',
      id: 'invite',
      icon: UserPlus,
      label: text.shell.invite,
      run: () => navigate({ to: '/organization', search: { invite: 'yes' } }),
    },
  ]
}
