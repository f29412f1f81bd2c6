import { CodeXml, MessagesSquare, SlidersHorizontal, SquarePen } from 'lucide-react'
import { Suspense, useEffect, useMemo, useState } from 'react'
import { answersRequests } from '../../domain/deployments/status.ts'
import { loadWhenIdle } from '../../routing/lazy-part.ts'
import { text } from '../../text/index.ts'
import { Action } from './action.tsx'
import { BadParameters, Parameters, useParameters } from './chat-parameters.tsx'
import type { ParametersProps } from './chat-parameters.tsx'
import { Composer } from './composer.tsx'
import { conversation, findOutcome, hasPendingAnswer, setDeployments } from './conversation.ts'
import { DeploymentChoice } from './deployment-choice.tsx'
import { EmptyTranscript } from './empty-transcript.tsx'
import { focusComposer } from './focus.ts'
import { ChatCodeDialog, DeploymentNotices, NoDeployment, Transcript } from './lazy-parts.ts'
import { loadAsking } from './load-asking.ts'
import { useTakesImages } from './queries.ts'
import { useStore } from './store.ts'
import { isUsable, toSampleModel } from './targets.ts'
import type { Target } from './targets.ts'
import { ViewFrame } from './view-frame.tsx'
import type { ViewProps } from './view-frame.tsx'

const maxDeployments = 4

/** A conversation with one deployment, or the same conversation with several. */
export function ChatView({ heading, targets, names, ids, onChoose }: ViewProps) {
  const hasTurns = useStore(conversation, ({ turns }) => turns.length > 0)
  const busy = useStore(conversation, hasPendingAnswer)
  const outcome = useStore(conversation, findOutcome)
  const chosen = useSelection(targets, ids, onChoose)
  const readyIds = useMemo(
    () => chosen.filter((id) => targets.some((one) => one.id === id && answersRequests(one))),
    [chosen, targets],
  )
  const takesImages = useTakesImages(targets.filter(({ id }) => chosen.includes(id)))
  const first = targets.find(({ id }) => id === chosen[0])
  const needsNotice = chosen.some((id) => targets.find((one) => one.id === id)?.status !== 'running')
  const parameters = useParameters()
  const [codeOpen, setCodeOpen] = useState(false)
  useEscapeToStop(busy)
  useEffect(() => loadWhenIdle(Transcript.load), [])

  if (chosen.length === 0 && !hasTurns) {
    return (
      <ViewFrame heading={heading}>
        <NoDeployment
          icon={<MessagesSquare />}
          title={text.playground.noChat}
          hint={text.playground.noChatMore}
        />
      </ViewFrame>
    )
  }
  return (
    <>
      <ViewFrame
        heading={heading}
        choice={
          <DeploymentChoice
            targets={targets}
            names={names}
            ids={chosen}
            max={maxDeployments}
            onChoose={onChoose}
          />
        }
        wideChoice={chosen.length > 1}
        actions={
          <ChatActions
            hasTurns={hasTurns}
            parameters={parameters}
            {...(chosen.length > 0 && { onViewCode: () => setCodeOpen(true) })}
          />
        }
      >
        {hasTurns ? (
          <Suspense fallback={<div className="flex-1" />}>
            <Transcript names={names} readyIds={readyIds} busy={busy} />
          </Suspense>
        ) : (
          <div className="flex min-h-0 flex-1 overflow-y-auto">
            <EmptyTranscript modelName={first?.deployment.model_name} many={chosen.length > 1} />
          </div>
        )}
        <div className="grid gap-2 px-4 pt-1 pb-4 sm:px-8">
          <div className="mx-auto grid w-full max-w-3xl gap-2">
            {needsNotice && (
              <Suspense>
                <DeploymentNotices targets={targets} names={names} ids={chosen} />
              </Suspense>
            )}
            {!parameters.valid && <BadParameters parameters={parameters} />}
          </div>
          <Composer readyIds={readyIds} busy={busy} valid={parameters.valid} takesImages={takesImages} />
        </div>
        <p role="status" className="sr-only">
          {busy ? text.playground.answering : outcome && text.playground.ended[outcome]}
        </p>
      </ViewFrame>
      <Parameters parameters={parameters} />
      <Suspense>
        {codeOpen && (
          <ChatCodeDialog
            deploymentId={chosen[0] ?? ''}
            model={first && toSampleModel(first)}
            onClose={() => setCodeOpen(false)}
          />
        )}
      </Suspense>
    </>
  )
}

interface ChatActionsProps extends ParametersProps {
  hasTurns: boolean
  /** Missing without a deployment */
  onViewCode?: () => void
}

function ChatActions({ hasTurns, parameters: { shown, show }, onViewCode }: ChatActionsProps) {
  return (
    <>
      <Action
        icon={<SquarePen aria-hidden />}
        label={text.playground.newChat}
        disabled={!hasTurns}
        onClick={() => {
          void loadAsking().then(({ startNewChat }) => startNewChat())
          focusComposer()
        }}
      />
      <Action
        icon={<CodeXml aria-hidden />}
        label={text.playground.viewCode}
        disabled={!onViewCode}
        onClick={onViewCode}
      />
      <Action
        icon={<SlidersHorizontal aria-hidden />}
        label={text.playground.parameters}
        aria-expanded={shown}
        onClick={() => show(!shown)}
      />
    </>
  )
}

/** Selects targets: those of the URL, or of the last visit, or a running one. Fills an empty URL. */
function useSelection(
  targets: readonly Target[],
  ids: readonly string[],
  onChoose: (ids: readonly string[]) => void,
) {
  const chosenList = (() => {
    if (ids.length > 0) return ids.slice(0, maxDeployments)
    const usable = targets.filter(isUsable)
    const { deploymentIds } = conversation.get()
    const previous = deploymentIds.filter((id) => usable.some((one) => one.id === id))
    if (previous.length > 0) return previous
    const first = usable.find(({ status }) => status === 'running') ?? usable[0]
    return first ? [first.id] : []
  })().join(',')
  const chosen = useMemo(() => (chosenList === '' ? [] : chosenList.split(',')), [chosenList])
  useEffect(() => {
    if (chosen.length > 0) setDeployments(chosen)
    if (chosen.length > 0 && ids.length === 0) onChoose(chosen)
    // Runs once per default selection, only to fill an empty URL.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [chosen])
  return chosen
}

/** Stops the answers on Escape, unless a dialog or field handles the key. */
function useEscapeToStop(busy: boolean) {
  useEffect(() => {
    if (!busy) return
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.key === 'Escape' && !event.defaultPrevented && !event.isComposing)
        void loadAsking().then(({ stopAllAnswers }) => stopAllAnswers())
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [busy])
}
