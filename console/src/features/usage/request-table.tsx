import { Link } from '@tanstack/react-router'
import { Badge } from '../../components/badge.tsx'
import type { Tone } from '../../components/badge.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import type { LoggedDeploymentRequest, LoggedRequest } from '../../contract.ts'
import { formatDuration, formatInstant, formatMoney, formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'

const words = text.requests

type Request = LoggedRequest | LoggedDeploymentRequest

interface RequestTableProps {
  items: readonly Request[]
  currency: string
  /** The requests are those of everybody to one deployment */
  ofDeployment: boolean
}

/** The rows of the list of requests. */
export function RequestTable({ items, currency, ofDeployment }: RequestTableProps) {
  return (
    <Table
      label={ofDeployment ? words.ofDeployment : words.title}
      head={
        <>
          <HeadCell>{words.request}</HeadCell>
          <HeadCell>{words.status}</HeadCell>
          <HeadCell numeric className="hidden sm:table-cell">
            {words.tokens}
          </HeadCell>
          <HeadCell numeric className="hidden lg:table-cell">
            {words.firstToken}
          </HeadCell>
          <HeadCell numeric className="hidden sm:table-cell">
            {words.duration}
          </HeadCell>
          <HeadCell numeric className="hidden xl:table-cell">
            {words.cost}
          </HeadCell>
          <HeadCell className="hidden lg:table-cell">{ofDeployment ? words.caller : words.client}</HeadCell>
        </>
      }
    >
      {items.map((item) => (
        <RequestRow key={item.id} item={item} currency={currency} />
      ))}
    </Table>
  )
}

function RequestRow({ item, currency }: { item: Request; currency: string }) {
  const { deployment, input_tokens: input, output_tokens: output, cached_tokens: cached } = item
  return (
    <tr>
      <Cell className="max-w-72">
        <div className="truncate font-medium">
          {deployment === null ? (
            item.model
          ) : (
            <Link
              to="/deployments/$deploymentId"
              params={{ deploymentId: deployment.id }}
              className="hover:underline"
            >
              {deployment.name}
            </Link>
          )}
        </div>
        <div className="truncate text-[0.8125rem] text-muted">{item.route}</div>
        <div className="text-[0.8125rem] whitespace-nowrap text-muted">{formatInstant(item.at)}</div>
        <div className="text-[0.8125rem] text-muted sm:hidden">{formatDuration(item.duration_ms)}</div>
      </Cell>
      <Cell>
        <div className="flex flex-wrap gap-1">
          <Badge tone={toneOf(item.status)}>{item.status}</Badge>
          {item.caller_left && <Badge>{words.callerLeft}</Badge>}
          {item.retry > 0 && <Badge>{words.retry(item.retry)}</Badge>}
        </div>
      </Cell>
      <Cell numeric className="hidden whitespace-nowrap sm:table-cell">
        {input === null || output === null ? (
          words.noValue
        ) : (
          <>
            {formatNumber(input)} / {formatNumber(output)}
          </>
        )}
        {cached !== null && cached > 0 && (
          <div className="text-[0.8125rem] text-muted">{words.cached(formatNumber(cached))}</div>
        )}
      </Cell>
      <Cell numeric className="hidden whitespace-nowrap lg:table-cell">
        {item.time_to_first_token_ms === null ? words.noValue : formatDuration(item.time_to_first_token_ms)}
      </Cell>
      <Cell numeric className="hidden whitespace-nowrap sm:table-cell">
        {formatDuration(item.duration_ms)}
      </Cell>
      <Cell numeric className="hidden whitespace-nowrap xl:table-cell">
        {item.cost === null ? words.noValue : formatMoney(item.cost, currency)}
      </Cell>
      <Cell className="hidden max-w-56 lg:table-cell">
        {'user' in item && <div className="truncate">{item.user.name || item.user.email}</div>}
        <div className="truncate text-[0.8125rem] text-muted" title={item.client ?? undefined}>
          {item.client}
        </div>
      </Cell>
    </tr>
  )
}

function toneOf(status: number): Tone {
  if (status >= 500) return 'bad'
  return status >= 400 ? 'warn' : 'good'
}
