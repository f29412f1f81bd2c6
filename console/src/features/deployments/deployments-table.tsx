import { Link } from '@tanstack/react-router'
import { classNames } from '../../class-names.ts'
import type { Deployment } from '../../contract.ts'
import { useSession } from '../../api/session.ts'
import { Badge } from '../../components/badge.tsx'
import { Progress } from '../../components/progress.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import { useNow } from '../../components/use-now.ts'
import { formatMoment, formatRelative } from '../../format.ts'
import { text } from '../../text/index.ts'
import { parseFailure } from './failure-reason.ts'
import { usePayer } from './payer.ts'
import { RowMenu } from './row-menu.tsx'
import { usePrices } from './use-prices.ts'
import { StatusBadge } from '../../domain/deployments/status-badge.tsx'
import { isChanging, isMoving } from '../../domain/deployments/status.ts'
import { describeDeployment, findIdSuffixes, nameDeployment } from '../../domain/deployments/names.ts'

const words = text.deployments

interface DeploymentsTableProps {
  deployments: Deployment[]
  stale: boolean
  /** Whether they belong to several members, so that each row names its owner */
  team: boolean
}

/** A table of deployments with links to their pages. On a small screen the status is below the name. */
export function DeploymentsTable({ deployments, stale, team }: DeploymentsTableProps) {
  const priceOf = usePrices(deployments.some(hasInstance))
  const idSuffixes = findIdSuffixes(deployments)
  // A poll without changes does not re-render, so update relative times here.
  useNow(10_000)
  return (
    <div className={classNames('transition-opacity', stale && 'opacity-60')}>
      <Table
        label={text.pages.deployments.title}
        head={
          <>
            <HeadCell>{words.model}</HeadCell>
            <HeadCell className="hidden sm:table-cell">{words.status}</HeadCell>
            <HeadCell className="hidden md:table-cell">{words.instance}</HeadCell>
            <HeadCell className="hidden sm:table-cell">{words.age}</HeadCell>
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
            price={hasInstance(deployment) ? priceOf(deployment, deployment.selected_instance_type) : null}
            team={team}
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
  price: string | null
  team: boolean
}

function Row({ deployment, idSuffix, price, team }: RowProps) {
  return (
    <tr className="relative align-top hover:bg-subtle/60">
      <Cell className="max-w-0 sm:w-2/5">
        <Link
          to="/deployments/$deploymentId"
          params={{ deploymentId: deployment.id }}
          // Stretches the link over the whole row.
          className="font-medium after:absolute after:inset-0 focus-visible:outline-none focus-visible:after:outline-2 focus-visible:after:-outline-offset-2 focus-visible:after:outline-accent"
        >
          {nameDeployment(deployment)}
        </Link>
        <p className="truncate text-[0.8125rem] text-muted" title={idSuffix && deployment.id}>
          {describeDeployment(deployment, idSuffix)}
        </p>
        <Payer deployment={deployment} />
        <Owner deployment={deployment} team={team} />
        <div className="mt-2 sm:hidden">
          <Status deployment={deployment} />
        </div>
      </Cell>
      <Cell className="hidden max-w-0 sm:table-cell sm:w-1/3">
        <Status deployment={deployment} />
      </Cell>
      <Cell className="hidden whitespace-nowrap md:table-cell">
        {deployment.selected_instance_type ?? (
          <span className="text-muted">{isMoving(deployment) ? words.noInstanceYet : words.noInstance}</span>
        )}
        {price !== null && <p className="tabular text-[0.8125rem] text-muted">{price}</p>}
      </Cell>
      <Cell className="hidden whitespace-nowrap sm:table-cell">
        <time dateTime={deployment.created_at} title={formatMoment(deployment.created_at)}>
          {formatRelative(deployment.created_at)}
        </time>
      </Cell>
      <Cell className="py-2! pr-3 pl-0">
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

/** Whose it is, if the list has deployments of several members, and whether it is shared. */
function Owner({ deployment, team }: { deployment: Deployment; team: boolean }) {
  const { user } = useSession()
  const { owner, shared_with: sharedWith } = deployment
  const isOwn = owner.user_id === String(user.id)
  if (!team && sharedWith === null) return null
  return (
    <p className="mt-0.5 flex flex-wrap items-center gap-x-2 gap-y-1 text-[0.8125rem] text-muted">
      {team && (
        <span className="truncate">
          {isOwn ? text.team.ownedByYou : text.team.ownedBy(owner.name || owner.email)}
        </span>
      )}
      {sharedWith !== null && <Badge tone="accent">{text.team.shared}</Badge>}
    </p>
  )
}

function Status({ deployment }: { deployment: Deployment }) {
  const { progress, failure_stage, failure_reason } = deployment
  const failure = failure_stage === null ? null : parseFailure(failure_reason ?? '').sentence
  const note = deployment.status === 'sleeping' ? words.sleepingNote : null
  const message = deployment.status_message ?? failure ?? note
  return (
    <div className="grid justify-items-start gap-1">
      <StatusBadge deployment={deployment} />
      {message !== null && (
        <p className="line-clamp-2 w-full text-[0.8125rem] text-muted" title={message}>
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
