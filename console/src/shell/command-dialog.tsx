import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Command as Palette } from 'cmdk'
import { BookOpen, Building2, Keyboard, LogOut, UserRound } from 'lucide-react'
import { Dialog } from 'radix-ui'
import { useState } from 'react'
import { useSession } from '../api/session.ts'
import type { Command } from '../components/command.ts'
import { organizationsQuery, useSwitchOrganization } from '../domain/session/organizations.ts'
import { useSignOut } from '../domain/session/sign-out.ts'
import { text } from '../text/index.ts'
import { chooseTheme } from '../theme.ts'
import { useNavigation } from './navigation.ts'
import { readRecent, rememberCommand } from './recent-commands.ts'
import { searchCommands } from './search-commands.ts'
import { openShortcuts } from './shortcuts.tsx'
import { themes } from './themes.ts'

const words = text.shell

interface CommandDialogProps {
  /** Commands of the features; the shell adds its own. */
  commands: readonly Command[]
  query: string
  onQueryChange: (query: string) => void
  onClose: () => void
}

/** The command palette: finds pages, settings, people, deployments, models and actions. */
export function CommandDialog({ commands, query, onQueryChange, onClose }: CommandDialogProps) {
  const { user } = useSession()
  const [recent] = useState(() => readRecent(user.id))
  const groups = searchCommands([...useShellCommands(), ...commands], query, recent)
  // cmdk keeps the first order of groups unless the best match changes their keys. New keys make new
  // elements, which cmdk announces to assistive technology only if the selected value changes too.
  const order = groups[0]?.group
  const run = (command: Command) => () => {
    onClose()
    rememberCommand(user.id, command.id)
    void command.run()
  }
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-black/45" />
        <Dialog.Content
          aria-describedby={undefined}
          className="fixed top-[12vh] left-1/2 z-50 w-[calc(100vw-2rem)] max-w-xl -translate-x-1/2 overflow-hidden rounded-xl border bg-raised shadow-2xl focus:outline-none"
        >
          <Dialog.Title className="sr-only">{words.commands}</Dialog.Title>
          <Palette label={words.commands} loop shouldFilter={false}>
            <Palette.Input
              value={query}
              onValueChange={onQueryChange}
              placeholder={text.palette.searchCommands}
              className="h-12 w-full border-b bg-transparent px-4 placeholder:text-muted focus:outline-none"
            />
            <Palette.List className="max-h-[60vh] overflow-y-auto p-2">
              <Palette.Empty className="px-3 py-8 text-center text-muted">
                {text.palette.noCommand}
              </Palette.Empty>
              {groups.map(({ group, commands: found }) => (
                <Palette.Group
                  key={`${order} ${group}`}
                  heading={text.palette.commandGroups[group]}
                  className="[&_[cmdk-group-heading]]:px-3 [&_[cmdk-group-heading]]:py-1.5 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-muted"
                >
                  {found.map((command) => (
                    <Item
                      key={command.id}
                      value={`${order} ${group} ${command.id}`}
                      command={command}
                      onSelect={run(command)}
                    />
                  ))}
                </Palette.Group>
              ))}
            </Palette.List>
          </Palette>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

/** Commands that open pages, switch the organization or theme, and sign out. */
function useShellCommands(): Command[] {
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
      run: () => window.open('/docs'),
    },
    ...organizations
      .filter(({ current }) => !current)
      .map((one): Command => ({
        group: 'actions',
        id: `organization ${one.id}`,
        icon: Building2,
        label: text.palette.switchTo(one.name),
        keywords: words.switchOrganization,
        run: () => change.mutate(one),
      })),
    ...themes.map(({ value, icon }): Command => ({
      group: 'actions',
      id: `theme ${value}`,
      icon,
      label: text.palette.switchTheme(words.themes[value]),
      run: () => chooseTheme(value),
    })),
    {
      group: 'actions',
      id: 'shortcuts',
      icon: Keyboard,
      label: text.shortcuts.title,
      run: openShortcuts,
    },
    {
      group: 'actions',
      id: 'sign-out',
      icon: LogOut,
      label: words.signOut,
      keywords: text.palette.signOutWords,
      run: () => signOut.mutate(),
    },
  ]
}

function Item({
  value,
  command: { icon: Icon, label, hint },
  onSelect,
}: {
  value: string
  command: Command
  onSelect: () => void
}) {
  return (
    <Palette.Item
      value={value}
      onSelect={onSelect}
      className="flex cursor-default items-center gap-3 rounded-md px-3 py-2 data-[selected=true]:bg-subtle [&_svg]:size-4 [&_svg]:shrink-0 [&_svg]:text-muted"
    >
      <Icon />
      <span className="min-w-0 truncate">{label}</span>
      {hint && <span className="ml-auto shrink-0 truncate text-xs text-muted">{hint}</span>}
    </Palette.Item>
  )
}
