import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Benchmark, Deployment } from '../../contract.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Disclosure } from '../../components/disclosure.tsx'
import { TextField } from '../../components/field.tsx'
import { Form, listError } from '../../components/form.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { Cell, HeadCell, Table } from '../../components/table.tsx'
import { formatDuration, formatHundredths, formatMoment, formatMoney, formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'
import { benchmarksQuery, useStartBenchmark, useStopBenchmark } from './benchmark-queries.ts'

const words = text.benchmark

/** The newest benchmark, the earlier ones, and the dialog that starts one. */
export function BenchmarkSection({ deployment }: { deployment: Deployment }) {
  const query = useQuery(benchmarksQuery(deployment.id))
  const [open, setOpen] = useState(false)
  const newest = query.data?.items[0]
  const mayStart = deployment.status === 'running' && newest?.status !== 'running'
  return (
    <Section
      id="benchmark"
      title={words.title}
      description={words.description}
      actions={mayStart && <Button onClick={() => setOpen(true)}>{words.start}</Button>}
    >
      <Loaded query={query} rows={2}>
        {({ items: [first, ...earlier], currency }) => (
          <>
            {first ? (
              <Result deployment={deployment} benchmark={first} currency={currency} />
            ) : (
              <p className="text-muted">{words.none}</p>
            )}
            {earlier.length > 0 && (
              <Disclosure summary={words.earlier} className="mt-4">
                <div className="grid gap-6 pt-2">
                  {earlier.map((each) => (
                    <Result key={each.number} deployment={deployment} benchmark={each} currency={currency} />
                  ))}
                </div>
              </Disclosure>
            )}
          </>
        )}
      </Loaded>
      {open && <StartDialog deployment={deployment} onClose={() => setOpen(false)} />}
    </Section>
  )
}

function Result({
  deployment,
  benchmark,
  currency,
}: {
  deployment: Deployment
  benchmark: Benchmark
  currency: string
}) {
  const stop = useStopBenchmark(deployment.id)
  const { number, status, rows, concurrency, error, other_requests: others } = benchmark
  const started = formatMoment(benchmark.started_at)
  return (
    <div className="grid gap-2">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <p role="status">
          {status === 'running'
            ? words.running(formatNumber(rows.length + 1), formatNumber(concurrency.length))
            : words.statuses[status]}
        </p>
        <p className="text-[0.8125rem] text-muted">
          {started},{' '}
          {words.settings(
            formatNumber(benchmark.prompt_tokens),
            formatNumber(benchmark.output_tokens),
            formatNumber(benchmark.seconds),
          )}
        </p>
        {status === 'running' && (
          <Button busy={stop.isPending} onClick={() => stop.mutate(number)}>
            {words.stop}
          </Button>
        )}
      </div>
      {error !== null && <p className="break-words text-bad">{error}</p>}
      {others !== null && others > 0 && (
        <p className="text-[0.8125rem] text-muted">{words.others(formatNumber(others))}</p>
      )}
      <ErrorMessage error={stop.error} />
      {rows.length > 0 && <Rows rows={rows} label={words.table(started)} currency={currency} />}
    </div>
  )
}

type Row = Benchmark['rows'][number]

function Rows({ rows, label, currency }: { rows: readonly Row[]; label: string; currency: string }) {
  return (
    <Table
      label={label}
      head={
        <>
          <HeadCell numeric>{words.atOnce}</HeadCell>
          <HeadCell numeric className="hidden sm:table-cell">
            {words.requestsPerSecond}
          </HeadCell>
          <HeadCell numeric>{words.tokensPerSecond}</HeadCell>
          <HeadCell numeric>{words.firstToken}</HeadCell>
          <HeadCell numeric className="hidden sm:table-cell">
            {words.perToken}
          </HeadCell>
          <HeadCell numeric className="hidden md:table-cell">
            {words.errors}
          </HeadCell>
          <HeadCell numeric className="hidden md:table-cell">
            {words.cost}
          </HeadCell>
        </>
      }
    >
      {rows.map((row) => (
        <tr key={row.concurrency}>
          <Cell numeric>{formatNumber(row.concurrency)}</Cell>
          <Cell numeric className="hidden sm:table-cell">
            {formatHundredths(row.requests_per_second)}
          </Cell>
          <Cell numeric>{formatHundredths(row.output_tokens_per_second)}</Cell>
          <Cell numeric>{formatRange(row.time_to_first_token_ms)}</Cell>
          <Cell numeric className="hidden sm:table-cell">
            {formatRange(row.time_per_token_ms)}
          </Cell>
          <Cell numeric className="hidden md:table-cell">
            {describeErrors(row.errors)}
          </Cell>
          <Cell numeric className="hidden md:table-cell">
            {row.cost_per_million_tokens === null
              ? text.deploymentParts.noValue
              : formatMoney(row.cost_per_million_tokens, currency)}
          </Cell>
        </tr>
      ))}
    </Table>
  )
}

function formatRange(values: Row['time_to_first_token_ms']): string {
  if (values === null) return text.deploymentParts.noValue
  return words.range(formatDuration(values.p50), formatDuration(values.p95))
}

/** `3 context_length_exceeded`, or `0` */
function describeErrors(errors: Row['errors']): string {
  const each = Object.entries(errors).map(([code, count]) => `${formatNumber(count)} ${code}`)
  return each.join(', ') || formatNumber(0)
}

function StartDialog({ deployment, onClose }: { deployment: Deployment; onClose: () => void }) {
  const start = useStartBenchmark(deployment.id)
  const field = (name: 'prompt_tokens' | 'output_tokens' | 'concurrency' | 'seconds') => ({
    name,
    error: listError(start.error, name),
  })
  return (
    <Dialog onClose={onClose} title={words.startTitle} description={words.startWords}>
      <Form<'prompt_tokens' | 'output_tokens' | 'concurrency' | 'seconds'>
        submitLabel={words.start}
        busy={start.isPending}
        error={start.error}
        onSubmit={(values) =>
          start.mutate(
            {
              prompt_tokens: Number(values.prompt_tokens),
              output_tokens: Number(values.output_tokens),
              concurrency: values.concurrency
                .split(/[\s,]+/)
                .filter(Boolean)
                .map(Number),
              seconds: Number(values.seconds),
            },
            { onSuccess: onClose },
          )
        }
      >
        <TextField
          label={words.promptTokens}
          {...field('prompt_tokens')}
          inputMode="numeric"
          defaultValue="256"
        />
        <TextField
          label={words.outputTokens}
          {...field('output_tokens')}
          inputMode="numeric"
          defaultValue="128"
        />
        <TextField
          label={words.concurrency}
          hint={words.concurrencyHint}
          {...field('concurrency')}
          defaultValue="1, 4, 16"
        />
        <TextField label={words.seconds} {...field('seconds')} inputMode="numeric" defaultValue="20" />
      </Form>
    </Dialog>
  )
}
