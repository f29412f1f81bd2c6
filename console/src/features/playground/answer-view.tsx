import { useQueryClient, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { RotateCcw } from 'lucide-react'
import { memo, Suspense, useEffect, useState } from 'react'
import { ApiError } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { CodeBlock } from '../../components/code-block.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { Spinner } from '../../components/spinner.tsx'
import { ErrorMessage } from '../../components/states.tsx'
import { useNow } from '../../components/use-now.ts'
import { formatDuration, formatNumber } from '../../format.ts'
import { lazyPart } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { isPending } from './answer.ts'
import type { Answer } from './answer.ts'
import { requestAnswer } from './asking.ts'
import { LastStart } from './deployment-notices.tsx'
import { focusComposer } from './focus.ts'
import { activeDeploymentsQuery } from './active-deployments-query.ts'
import { toDeploymentId } from './targets.ts'
import { ToolResults } from './tool-results.tsx'
import { tokensPerSecond } from './tokens-per-second.ts'

const pollInterval = 1_000

// Large, and only needed for the first answer.
const Markdown = lazyPart(() => import('./markdown.tsx').then((module) => module.Markdown))

interface AnswerViewProps {
  answer: Answer
  turnId: number
  targetId: string
  name: string
  /** Whether the answer can be regenerated. */
  repeatable: boolean
}

/** A streaming or finished answer with its metrics and actions. */
export const AnswerView = memo(function AnswerView(props: AnswerViewProps) {
  const { answer, turnId, targetId, name, repeatable } = props
  const deploymentId = toDeploymentId(targetId)
  const { content, reasoning, toolCalls, state } = answer
  const again = () => {
    requestAnswer(turnId, targetId)
    focusComposer()
  }
  const empty = !content && !reasoning && toolCalls.length === 0
  return (
    <article className="grid min-w-0 content-start gap-2">
      <h2 className="truncate text-[0.8125rem] font-medium text-muted" title={name}>
        {name}
      </h2>
      {state === 'waiting' && <WaitingAnswer deploymentId={deploymentId} />}
      {reasoning && (
        <details open={!content && isPending(answer)} className="rounded-lg bg-subtle px-4 py-2.5 text-muted">
          <summary className="cursor-pointer font-medium">{text.answers.reasoning}</summary>
          <p dir="auto" className="pt-2 whitespace-pre-wrap wrap-anywhere">
            {reasoning}
          </p>
        </details>
      )}
      {content && (
        <Suspense
          fallback={
            <p dir="auto" className="leading-relaxed whitespace-pre-wrap wrap-anywhere">
              {content}
            </p>
          }
        >
          <Markdown source={content} />
        </Suspense>
      )}
      {toolCalls.map((call, place) => (
        <div key={place} className="grid gap-1.5">
          <p className="font-medium">{text.answers.toolCall(call.name)}</p>
          <CodeBlock code={call.arguments} label={text.answers.toolArguments} />
        </div>
      ))}
      {toolCalls.length > 0 && repeatable && !isPending(answer) && (
        <ToolResults targetId={targetId} calls={toolCalls} />
      )}
      {state === 'done' && empty && <p className="text-muted">{text.answers.emptyAnswer}</p>}
      {state === 'failed' && <Failure error={answer.error} deploymentId={deploymentId} />}
      {!isPending(answer) && (
        <footer className="flex flex-wrap items-center gap-x-3 gap-y-1">
          <AnswerMetrics answer={answer} />
          <div className="flex gap-1 empty:hidden">
            {content && <CopyButton value={content} label={text.common.copy(text.answers.copyAnswer)} />}
            {repeatable && state === 'failed' && (
              <Button size="small" onClick={again}>
                {text.answers.retry}
              </Button>
            )}
            {repeatable && state !== 'failed' && (
              <Button variant="quiet" size="tiny" aria-label={text.answers.regenerate} onClick={again}>
                <RotateCcw />
              </Button>
            )}
          </div>
        </footer>
      )}
    </article>
  )
})

/** The answer's finish reason, if it is unusual, and its metrics. */
function AnswerMetrics({ answer }: { answer: Answer }) {
  const { state, finishReason, usage, chunkCount, firstTokenMs } = answer
  const ending = state === 'stopped' ? text.answers.stopped : text.answers.finish[finishReason ?? '']
  const rate = tokensPerSecond(answer)
  const measures = [
    // An answer that was stopped has no usage, which comes at its end.
    !usage && chunkCount > 0 && text.answers.aboutTokensOut(formatNumber(chunkCount)),
    usage && text.answers.tokensIn(formatNumber(usage.promptTokens)),
    usage && text.answers.tokensOut(formatNumber(usage.completionTokens)),
    rate !== null && text.answers.tokensPerSecond(formatNumber(rate)),
    firstTokenMs !== null && text.answers.firstToken(formatDuration(firstTokenMs)),
  ].filter((measure) => typeof measure === 'string')
  if (!ending && measures.length === 0) return null
  return (
    <div className="grid gap-0.5">
      {ending && <p className="text-[0.8125rem] text-warn">{ending}</p>}
      {measures.length > 0 && <p className="tabular text-xs text-muted">{measures.join(' · ')}</p>}
    </div>
  )
}

function Failure({ error, deploymentId }: { error: unknown; deploymentId: string }) {
  const queryClient = useQueryClient()
  const known = error instanceof ApiError && error.code.startsWith('deployment_')
  useEffect(() => {
    // The deployment's cached status may be stale, or the session has ended, which the refetch detects.
    if (error instanceof ApiError) void queryClient.invalidateQueries(activeDeploymentsQuery)
  }, [queryClient, error])
  return (
    <div className="grid justify-items-start gap-2">
      <ErrorMessage error={error} className="w-full" />
      {known && (
        <Link
          to="/deployments/$deploymentId"
          params={{ deploymentId }}
          className="font-medium underline underline-offset-4"
        >
          {text.answers.openDeployment}
        </Link>
      )}
    </div>
  )
}

/** What an answer waits for before its first token: its deployment, until it is awake, then the engine. */
function WaitingAnswer({ deploymentId }: { deploymentId: string }) {
  const { data } = useQuery({
    ...activeDeploymentsQuery,
    refetchInterval: ({ state }) => {
      const status = state.data?.items.find(({ id }) => id === deploymentId)?.status
      return status === undefined || status === 'running' ? 15_000 : pollInterval
    },
  })
  const status = data?.items.find(({ id }) => id === deploymentId)?.status
  return (
    <p className="flex items-center gap-2 text-muted">
      <Spinner />
      {status === undefined || status === 'running' ? (
        text.answers.waiting
      ) : (
        <span>
          <WakingTime /> <LastStart id={deploymentId} />
        </span>
      )}
    </p>
  )
}

/** Counts whole seconds, from one, to hide flicker. */
function WakingTime() {
  const [since] = useState(Date.now)
  const seconds = Math.max(1, Math.floor((useNow(1_000) - since) / 1_000))
  return text.answers.wakingUp(formatDuration(seconds * 1_000))
}
