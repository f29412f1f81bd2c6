import { useQuery } from '@tanstack/react-query'
import { EllipsisVertical, Plug } from 'lucide-react'
import { Suspense, useState } from 'react'
import { Badge } from '../../../components/badge.tsx'
import { Button } from '../../../components/button.tsx'
import { Loaded } from '../../../components/loaded.tsx'
import { Menu, MenuItem } from '../../../components/menu.tsx'
import { Section } from '../../../components/page.tsx'
import { EmptyState } from '../../../components/states.tsx'
import { Cell, HeadCell, Table } from '../../../components/table.tsx'
import type { Endpoint } from '../../../contract.ts'
import { formatRelative } from '../../../format.ts'
import { lazyPart } from '../../../routing/lazy-part.ts'
import { text } from '../../../text/index.ts'
import type { OpenDialog } from './dialogs.tsx'
import { endpointsQuery } from './queries.ts'
import { tones } from './tones.ts'

const words = text.endpoints

const note = 'truncate text-[0.8125rem] text-muted'

const Dialogs = lazyPart(() => import('./dialogs.tsx').then((module) => module.EndpointDialogs))

/** The endpoints of the organization, with an admin's actions; requires the `manageModels` permission. */
export function EndpointsSection() {
  const query = useQuery(endpointsQuery)
  const [open, setOpen] = useState<OpenDialog | null>(null)
  return (
    <Section
      flush
      title={words.title}
      description={words.description}
      actions={<Button onClick={() => setOpen({ dialog: 'add' })}>{words.add}</Button>}
    >
      <Loaded query={query} rows={1}>
        {({ items: endpoints }) =>
          endpoints.length === 0 ? (
            <EmptyState icon={<Plug />} title={words.none}>
              {words.addDescription}
            </EmptyState>
          ) : (
            <Table
              label={words.title}
              head={
                <>
                  <HeadCell>{words.name}</HeadCell>
                  <HeadCell>{words.state}</HeadCell>
                  <HeadCell className="hidden sm:table-cell">{words.models}</HeadCell>
                  <HeadCell>
                    <span className="sr-only">{text.organization.actions}</span>
                  </HeadCell>
                </>
              }
            >
              {endpoints.map((endpoint) => (
                <EndpointRow key={endpoint.id} endpoint={endpoint} onOpen={setOpen} />
              ))}
            </Table>
          )
        }
      </Loaded>
      {open !== null && (
        <Suspense>
          <Dialogs open={open} onChange={setOpen} />
        </Suspense>
      )}
    </Section>
  )
}

interface EndpointRowProps {
  endpoint: Endpoint
  onOpen: (dialog: OpenDialog) => void
}

function EndpointRow({ endpoint, onOpen }: EndpointRowProps) {
  const { name, base_url: address, status, checked_at: checkedAt, models } = endpoint
  return (
    <tr>
      <Cell className="w-full max-w-0">
        <div className="font-medium wrap-anywhere">{name}</div>
        <div className={note} title={address ?? undefined}>
          {address}
        </div>
      </Cell>
      <Cell className="whitespace-nowrap">
        <Badge tone={tones[status]}>{words.states[status]}</Badge>
        <div className={note}>{words.checkedAt(formatRelative(checkedAt))}</div>
      </Cell>
      <Cell className="hidden whitespace-nowrap text-muted sm:table-cell">
        {words.countOf(models.length)}
      </Cell>
      <Cell className="pl-0">
        <Menu
          trigger={
            <Button variant="quiet" size="tiny" aria-label={text.organization.actionsFor(name)}>
              <EllipsisVertical />
            </Button>
          }
        >
          <MenuItem onSelect={() => onOpen({ dialog: 'check', endpoint })}>{words.check}</MenuItem>
          <MenuItem dangerous onSelect={() => onOpen({ dialog: 'delete', endpoint })}>
            {words.remove}
          </MenuItem>
        </Menu>
      </Cell>
    </tr>
  )
}
