import { Link } from '@tanstack/react-router'
import { Suspense } from 'react'
import { classNames } from '../../class-names.ts'
import type { Deployment, DeploymentUse } from '../../contract.ts'
import { useCan, useSession } from '../../api/session.ts'
import { Badge } from '../../components/badge.tsx'
import { Progress } from '../../components/progress.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import { useNow } from '../../components/use-now.ts'
import type { DeploymentFilter } from '../../domain/deployments/queries.ts'
import { formatMoment, formatMoney, formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'
import type { Selection } from './bulk/select-box.tsx'
import { parseFailure } from './failure-reason.ts'
import { RecentRequests, SelectAll, SelectBox } from './lazy-tools.ts'
import { usePayer } from './payer.ts'
import { RowMenu } from './row-menu.tsx'
import { usePrices } from './use-prices.ts'
import { useSummaries } from './use-summaries.ts'
import { StatusBadge } from '../../domain/deployments/status-badge.tsx'
import { isChanging } from '../../domain/deployments/status.ts'
import { describeDeployment, findIdSuffixes, nameDeployment } from '../../domain/deployments/names.ts'

const words = text.deployments
const list = text.deploymentList

interface DeploymentsTableProps {
  deployments: Deployment[]
  stale: boolean
  whose: DeploymentFilter['whose']
  selection: Selection
  onSelect: (selection: Selection) => void
}

/** A table of deployments with links to their pages. On a small screen the status is below the name. */
export function DeploymentsTable({ deployments, stale, whose, selection, onSelect }: DeploymentsTableProps) {
  const isAdmin = useCan()('manageDeployments')
  const { user } = useSession()
  const priceOf = usePrices(deployments.some(hasInstance))
  const idSuffixes = findIdSuffixes(deployments)
  const uses = useSummaries(deployments)
  const showsOwner = whose !== 'own'
  const mayAct = isAdmin || deployments.some(({ user_id: owner }) => owner === String(user.id))
  const selecting = { selection, onSelect }
  // A poll without changes does not re-render, so update relative times here.
  useNow(10_000)
  return (
    <div className={classNames('transition-opacity', stale && 'opacity-60')}>
      <Table
        label={text.pages.deployments.title}
        head={
          <>
            {mayAct && (
              // A header cell without text is an error to screen readers, so a plain cell holds its place.
              <Suspense fallback={<td aria-hidden />}>
                <SelectAll deployments={deployments} {...selecting} />
              </Suspense>
            )}
            <HeadCell>{words.model}</HeadCell>
            <HeadCell className="hidden sm:table-cell">{words.status}</HeadCell>
            <HeadCell className="hidden lg:table-cell">{list.requests}</HeadCell>
            <HeadCell className="hidden md:table-cell">{list.cost}</HeadCell>
            <HeadCell className="hidden lg:table-cell">{list.owner}</HeadCell>
            <HeadCell className="w-0">
              <span className="sr-only">{words.actions}</span>
            </HeadCell>
          </>
        }
      >
        {deployments.map((deployment) => (
          <Row
            key={deployment.id}
            deployment={deployment}
            idSuffix={idSuffixes.get(deployment.id) ?? ''}
            selecting={mayAct ? selecting : null}
            price={hasInstance(deployment) ? priceOf(deployment, deployment.selected_instance_type) : null}
            use={uses.get(deployment.id)}
            showsOwner={showsOwner}
          />
        ))}
      </Table>
    </div>
  )
}

interface RowProps {
  deployment: Deployment
  /** The shortened id if other deployments have the same name and variant, otherwise empty. */
  idSuffix: string
  /** null for a person who may do nothing to any of them */
  selecting: Pick<DeploymentsTableProps, 'selection' | 'onSelect'> | null
  price: string | null
  use: DeploymentUse | undefined
  showsOwner: boolean
}

const second = 'truncate text-[0.8125rem] text-muted'

function Row({ deployment, idSuffix, selecting, price, use, showsOwner }: RowProps) {
  const owner = useOwnerName(deployment)
  return (
    <tr className="relative h-13 hover:bg-subtle/60">
      {selecting && (
        <Cell className="w-0 min-w-9 py-1.5! pr-0">
          <Suspense>
            <SelectBox deployment={deployment} idSuffix={idSuffix} {...selecting} />
          </Suspense>
        </Cell>
      )}
      <Cell className="max-w-0 py-1.5! sm:w-2/5">
        <div className="flex min-w-0 items-center gap-2">
          <Link
            to="/deployments/$deploymentId"
            params={{ deploymentId: deployment.id }}
            // Stretches the link over the whole row.
            className="truncate font-medium after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
          >
            {nameDeployment(deployment)}
          </Link>
          {deployment.shared_with !== null && <Badge tone="accent">{text.team.shared}</Badge>}
        </div>
        <p className={second} title={idSuffix && deployment.id}>
          {describeDeployment(deployment, idSuffix)}
        </p>
        <Payer deployment={deployment} />
        {showsOwner && <p className={classNames(second, 'lg:hidden')}>{text.team.ownedBy(owner)}</p>}
        <div className="mt-1 sm:hidden">
          <Status deployment={deployment} />
        </div>
      </Cell>
      <Cell className="hidden max-w-0 py-1.5! sm:table-cell sm:w-1/3">
        <Status deployment={deployment} />
      </Cell>
      <Cell className="tabular hidden py-1.5! whitespace-nowrap lg:table-cell">
        {use && (
          <Suspense>
            <RecentRequests use={use} />
          </Suspense>
        )}
      </Cell>
      <Cell className="tabular hidden py-1.5! whitespace-nowrap md:table-cell">
        {price}
        {use?.cost_this_month != null && (
          <p className={second}>{list.thisMonth(formatMoney(use.cost_this_month, use.currency))}</p>
        )}
      </Cell>
      <Cell className="hidden max-w-44 py-1.5! whitespace-nowrap lg:table-cell">
        <p className="truncate">{owner}</p>
        {use && (
          <p
            className={second}
            title={use.last_used_at === null ? undefined : formatMoment(use.last_used_at)}
          >
            {use.last_used_at === null ? list.neverUsed : list.lastUsed(formatRelative(use.last_used_at))}
          </p>
        )}
      </Cell>
      <Cell className="py-1.5! pr-3 pl-0">
        <RowMenu deployment={deployment} idSuffix={idSuffix} />
      </Cell>
    </tr>
  )
}

/** The paying organization, if it isn't the current one. */
function Payer({ deployment }: { deployment: Deployment }) {
  const { name, isCurrent } = usePayer(deployment)
  if (isCurrent || name === null) return null
  return <p className="truncate text-[0.8125rem] text-muted">{words.paidBy(name)}</p>
}

function useOwnerName({ owner }: Deployment): string {
  const { user } = useSession()
  return owner.user_id === String(user.id) ? list.you : owner.name || owner.email
}

function Status({ deployment }: { deployment: Deployment }) {
  const { progress, failure_stage, failure_reason } = deployment
  const failure = failure_stage === null ? null : parseFailure(failure_reason ?? '').sentence
  const note = deployment.status === 'sleeping' ? words.sleepingNote : null
  const message = deployment.status_message ?? failure ?? note
  return (
    <div className="grid justify-items-start gap-0.5">
      <StatusBadge deployment={deployment} />
      {message !== null && (
        <p className="w-full truncate text-[0.8125rem] text-muted" title={message}>
          {message}
        </p>
      )}
      {progress !== null && isChanging(deployment) && (
        <Progress value={progress} label={words.downloadProgress} className="w-full max-w-48" />
      )}
    </div>
  )
}

const hasInstance = ({ status }: Deployment) => status === 'deploying' || status === 'running'
