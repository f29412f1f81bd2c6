import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Command } from 'cmdk'
import { Building2, LogOut, UserRound } from 'lucide-react'
import type { LucideIcon } from 'lucide-react'
import { Dialog } from 'radix-ui'
import type { ReactNode } from 'react'
import type { Command as FeatureCommand } from '../components/command.ts'
import { useSignOut } from '../domain/session/sign-out.ts'
import { text } from '../text/index.ts'
import { chooseTheme } from '../theme.ts'
import { useNavigation } from './navigation.ts'
import { organizationsQuery, useSwitchOrganization } from '../domain/session/organizations.ts'
import { themes } from './themes.ts'

const words = text.shell

interface CommandDialogProps {
  /** Commands of the features; the shell adds pages, organizations, themes and sign-out. */
  commands: readonly FeatureCommand[]
  onClose: () => void
}

/** The command palette: finds a page, a deployment, a model or an action by a few letters. */
export function CommandDialog({ commands, onClose }: CommandDialogProps) {
  const navigate = useNavigate()
  const pages = useNavigation()
  const signOut = useSignOut()
  const change = useSwitchOrganization()
  const { data: organizations = [] } = useQuery(organizationsQuery)
  const run = (action: () => unknown) => () => {
    onClose()
    void action()
  }
  const listGroup = (group: FeatureCommand['group']) =>
    commands
      .filter((command) => command.group === group)
      .map(({ id, icon, label, hint, run: action }) => (
        <Item key={id} value={`${label} ${id}`} icon={icon} onSelect={run(action)}>
          {label}
          {hint && <span className="ml-auto text-xs text-muted">{hint}</span>}
        </Item>
      ))
  return (
    <Dialog.Root open onOpenChange={(open) => !open && onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay className="fixed inset-0 z-40 bg-black/45" />
        <Dialog.Content
          aria-describedby={undefined}
          className="fixed top-[12vh] left-1/2 z-50 w-[calc(100vw-2rem)] max-w-xl -translate-x-1/2 overflow-hidden rounded-xl border bg-raised shadow-2xl focus:outline-none"
        >
          <Dialog.Title className="sr-only">{words.commands}</Dialog.Title>
          <Command label={words.commands} loop>
            <Command.Input
              placeholder={words.searchCommands}
              className="h-12 w-full border-b bg-transparent px-4 placeholder:text-muted focus:outline-none"
            />
            <Command.List className="max-h-[60vh] overflow-y-auto p-2">
              <Command.Empty className="px-3 py-8 text-center text-muted">{words.noCommand}</Command.Empty>
              <Group heading={words.goTo}>
                {[
                  ...pages,
                  { to: '/profile', label: text.pages.profile.title, icon: UserRound } as const,
                ].map(({ to, label, icon }) => (
                  <Item key={to} icon={icon} onSelect={run(() => navigate({ to }))}>
                    {label}
                  </Item>
                ))}
              </Group>
              <Group heading={words.actions}>
                {listGroup('actions')}
                {organizations
                  .filter(({ current }) => !current)
                  .map((one) => (
                    <Item
                      key={one.id}
                      value={`${words.switchOrganization} ${one.name} ${one.id}`}
                      icon={Building2}
                      onSelect={run(() => change.mutate(one))}
                    >
                      {words.switchTo(one.name)}
                    </Item>
                  ))}
                {themes.map(({ value, icon }) => (
                  <Item key={value} icon={icon} onSelect={run(() => chooseTheme(value))}>
                    {words.switchTheme(words.themes[value])}
                  </Item>
                ))}
                <Item icon={LogOut} onSelect={run(() => signOut.mutate())}>
                  {words.signOut}
                </Item>
              </Group>
              <Group heading={words.yourDeployments}>{listGroup('deployments')}</Group>
              <Group heading={words.models}>{listGroup('models')}</Group>
            </Command.List>
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

/** Commands under a heading; renders nothing without commands. */
function Group({ heading, children }: { heading: string; children: ReactNode }) {
  if (Array.isArray(children) && children.length === 0) return null
  return (
    <Command.Group
      heading={heading}
      className="[&_[cmdk-group-heading]]:px-3 [&_[cmdk-group-heading]]:py-1.5 [&_[cmdk-group-heading]]:text-xs [&_[cmdk-group-heading]]:text-muted"
    >
      {children}
    </Command.Group>
  )
}

interface ItemProps {
  icon: LucideIcon
  children: ReactNode
  onSelect: () => void
  /** What the search matches; the text content by default. */
  value?: string
}

function Item({ icon: Icon, children, onSelect, value }: ItemProps) {
  return (
    <Command.Item
      onSelect={onSelect}
      {...(value !== undefined && { value })}
      className="flex cursor-default items-center gap-3 rounded-md px-3 py-2 data-[selected=true]:bg-subtle [&_svg]:size-4 [&_svg]:text-muted"
    >
      <Icon />
      {children}
    </Command.Item>
  )
}
