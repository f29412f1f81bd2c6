import { useNavigate } from '@tanstack/react-router'
import {
  Database,
  KeyRound,
  Mail,
  MonitorSmartphone,
  ShieldCheck,
  SquareTerminal,
  Terminal,
} from 'lucide-react'
import type { LucideIcon } from 'lucide-react'
import type { Command } from '../../components/command.ts'
import { usePasswordsAllowed } from '../../domain/installation.ts'
import { text } from '../../text/index.ts'
import { sections } from './sections.ts'

/** Commands that open a section of the person's account. */
export function useProfileCommands(): Command[] {
  const navigate = useNavigate()
  const passwords = usePasswordsAllowed()
  const show = (section: keyof typeof sections, label: string, icon: LucideIcon, keywords = ''): Command => ({
    group: 'pages',
    id: `profile ${section}`,
    icon,
    label,
    keywords: `${text.pages.profile.title} ${keywords}`,
    searchOnly: true,
    run: () => navigate({ to: '/profile', hash: sections[section] }),
  })
  return [
    show('sessions', text.profile.sessions, MonitorSmartphone),
    show('scriptSessions', text.scriptSessions.listTitle, SquareTerminal, 'API key token BERTH_COOKIE'),
    show('commandLine', text.profile.commandLine, Terminal, 'berth connect CLI API key'),
    ...(passwords
      ? [
          show('secondFactor', text.secondFactors.title, ShieldCheck, '2FA passkey authenticator'),
          show('signIn', text.profile.changePassword, KeyRound),
        ]
      : []),
    show('invitations', text.profile.invitations, Mail),
    show('data', text.profile.data, Database, `${text.profile.export} ${text.profile.deleteAccount}`),
  ]
}
