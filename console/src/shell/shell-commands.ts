import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { BookOpen, Building2, Keyboard, LogOut, UserRound } from 'lucide-react'
import type { Command } from '../components/command.ts'
import { organizationsQuery, useSwitchOrganization } from '../domain/session/organizations.ts'
import { useSignOut } from '../domain/session/sign-out.ts'
import { text } from '../text/index.ts'
import { chooseTheme } from '../theme.ts'
import { useNavigation } from './navigation.ts'
import { openShortcuts } from './shortcuts.tsx'
import { themes } from './themes.ts'

const words = text.shell

/** Commands that open pages, switch the organization or theme, and sign out. */
export function useShellCommands(): Command[] {
  const navigate = useNavigate()
  const pages = useNavigation()
  const signOut = useSignOut()
  const change = useSwitchOrganization()
  const { data: organizations = [] } = useQuery(organizationsQuery)
  const profile = { to: '/profile', label: text.pages.profile.title, keywords: '', icon: UserRound } as const
  return [
    ...[...pages, profile].map(({ to, label, keywords, icon }): Command => ({
      group: 'pages',
      id: to,
      icon,
      label,
      keywords,
      run: () => navigate({ to }),
    })),
    {
      group: 'pages',
      id: 'docs',
      icon: BookOpen,
      label: words.apiReference,
      run: () => location.assign('/docs'),
    },
    ...organizations
      .filter(({ current }) => !current)
      .map((one): Command => ({
        group: 'actions',
        id: `organization ${one.id}`,
        icon: Building2,
        label: words.switchTo(one.name),
        keywords: words.switchOrganization,
        run: () => change.mutate(one),
      })),
    ...themes.map(({ value, icon }): Command => ({
      group: 'actions',
      id: `theme ${value}`,
      icon,
      label: words.switchTheme(words.themes[value]),
      run: () => chooseTheme(value),
    })),
    {
      group: 'actions',
      id: 'shortcuts',
      icon: Keyboard,
      label: text.shortcuts.title,
      run: openShortcuts,
    },
    { group: 'actions', id: 'sign-out', icon: LogOut, label: words.signOut, run: () => signOut.mutate() },
  ]
}
