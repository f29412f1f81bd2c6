import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Command } from 'cmdk'
import {
  Boxes,
  Building2,
  ChartColumn,
  CreditCard,
  Library,
  LogOut,
  MessagesSquare,
  Monitor,
  Moon,
  Rocket,
  Sun,
  UserPlus,
  UserRound,
  Users,
} from 'lucide-react'
import { Dialog } from 'radix-ui'
import type { ReactNode } from 'react'
import type { DeploymentPage } from '../../../server/src/contract.ts'
import { callApi } from '../api/client.ts'
import { useCan } from '../api/session.ts'
import { nameApart } from '../domain/models/variant-names.ts'
import { modelsQuery } from '../domain/models/queries.ts'
import { text } from '../text/index.ts'
import { chooseTheme } from '../theme.ts'
import { useSignOut } from '../domain/session/sign-out.ts'
import { organizationsQuery, useSwitchOrganization } from './switch-organization.ts'

const words = text.shell

/** Finds a page, a deployment, a model or an action by a few letters. */
export function CommandDialog({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate()
  const can = useCan()
  const signOut = useSignOut()
  const change = useSwitchOrganization()
  const { data: organizations = [] } = useQuery(organizationsQuery)
  const { data: deployments } = useQuery({
    queryKey: ['commands', 'deployments'],
    queryFn: ({ signal }) =>
      callApi<DeploymentPage>('GET', '/api/v1/model-deployments', {
        query: { active: true, limit: 100 },
        signal,
      }),
  })
  const ends = nameApart(deployments?.items ?? [])
  const { data: models } = useQuery(modelsQuery)
  const run = (action: () => unknown) => () => {
    onClose()
    void action()
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
          <Command label={words.commands} loop>
            <Command.Input
              placeholder={words.searchCommands}
              className="h-12 w-full border-b bg-transparent px-4 placeholder:text-muted focus:outline-none"
            />
            <Command.List className="max-h-[60vh] overflow-y-auto p-2">
              <Command.Empty className="px-3 py-8 text-center text-muted">{words.noCommand}</Command.Empty>
              <Group heading={words.goTo}>
                <Item icon={<Boxes />} onSelect={run(() => navigate({ to: '/deployments' }))}>
                  {words.deployments}
                </Item>
                <Item icon={<Library />} onSelect={run(() => navigate({ to: '/catalog' }))}>
                  {words.catalog}
                </Item>
                <Item icon={<MessagesSquare />} onSelect={run(() => navigate({ to: '/playground' }))}>
                  {words.playground}
                </Item>
                <Item icon={<ChartColumn />} onSelect={run(() => navigate({ to: '/usage' }))}>
                  {words.usage}
                </Item>
                {can('manageBilling') && (
                  <Item icon={<CreditCard />} onSelect={run(() => navigate({ to: '/billing' }))}>
                    {words.billing}
                  </Item>
                )}
                <Item icon={<Users />} onSelect={run(() => navigate({ to: '/organization' }))}>
                  {words.organization}
                </Item>
                <Item icon={<UserRound />} onSelect={run(() => navigate({ to: '/profile' }))}>
                  {words.profile}
                </Item>
              </Group>
              <Group heading={words.actions}>
                {can('createDeployments') && (
                  <Item icon={<Rocket />} onSelect={run(() => navigate({ to: '/catalog' }))}>
                    {words.deployModel}
                  </Item>
                )}
                {can('manageInvitations') && (
                  <Item
                    icon={<UserPlus />}
                    onSelect={run(() => navigate({ to: '/organization', search: { invite: 'yes' } }))}
                  >
                    {words.invite}
                  </Item>
                )}
                {organizations
                  .filter(({ current }) => !current)
                  .map((one) => (
                    <Item
                      key={one.id}
                      value={`${words.switchOrganization} ${one.name} ${one.id}`}
                      icon={<Building2 />}
                      onSelect={run(() => change.mutate(one))}
                    >
                      {words.switchTo(one.name)}
                    </Item>
                  ))}
                <Item icon={<Sun />} onSelect={run(() => chooseTheme('light'))}>
                  {words.useTheme(words.themes.light)}
                </Item>
                <Item icon={<Moon />} onSelect={run(() => chooseTheme('dark'))}>
                  {words.useTheme(words.themes.dark)}
                </Item>
                <Item icon={<Monitor />} onSelect={run(() => chooseTheme('system'))}>
                  {words.useTheme(words.themes.system)}
                </Item>
                <Item icon={<LogOut />} onSelect={run(() => signOut.mutate())}>
                  {words.signOut}
                </Item>
              </Group>
              {deployments && deployments.items.length > 0 && (
                <Group heading={words.yourDeployments}>
                  {deployments.items.map(({ id, model_name, status }) => (
                    <Item
                      key={id}
                      value={`${model_name} ${id}`}
                      icon={<Boxes />}
                      onSelect={run(() =>
                        navigate({ to: '/deployments/$deploymentId', params: { deploymentId: id } }),
                      )}
                    >
                      {model_name} {ends.get(id)}
                      <span className="ml-auto text-xs text-muted">{text.deployments.statuses[status]}</span>
                    </Item>
                  ))}
                </Group>
              )}
              {models && (
                <Group heading={words.models}>
                  {models.map(({ id, display_name, model_name }) => (
                    <Item
                      key={id}
                      value={`${display_name} ${model_name}`}
                      icon={<Library />}
                      onSelect={run(() => navigate({ to: '/catalog/$modelId', params: { modelId: id } }))}
                    >
                      {display_name}
                    </Item>
                  ))}
                </Group>
              )}
            </Command.List>
          </Command>
        </Dialog.Content>
      </Dialog.Portal>
    </Dialog.Root>
  )
}

function Group({ heading, children }: { heading: string; children: ReactNode }) {
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
  icon: ReactNode
  children: ReactNode
  onSelect: () => void
  value?: string
}

function Item({ icon, children, onSelect, value }: ItemProps) {
  return (
    <Command.Item
      onSelect={onSelect}
      {...(value !== undefined && { value })}
      className="flex cursor-default items-center gap-3 rounded-md px-3 py-2 data-[selected=true]:bg-subtle [&_svg]:size-4 [&_svg]:text-muted"
    >
      {icon}
      {children}
    </Command.Item>
  )
}
