import { Link } from '@tanstack/react-router'
import { CodeXml, Grid3x3 } from 'lucide-react'
import { Suspense, useState } from 'react'
import { useCan } from '../../api/session.ts'
import { Button } from '../../components/button.tsx'
import { Figure, Section } from '../../components/page.tsx'
import { EmptyState, ErrorMessage } from '../../components/states.tsx'
import { formatDuration, formatNumber } from '../../format.ts'
import { answersRequests } from '../../domain/deployments/status.ts'
import { text } from '../../text/index.ts'
import { Action } from './action.tsx'
import { comparison, minTexts, useCompare } from './comparison.ts'
import type { ComparedText, ComparisonResult } from './comparison.ts'
import { DeploymentChoice } from './deployment-choice.tsx'
import { DeploymentNotices } from './deployment-notices.tsx'
import { ViewCodeDialog } from './lazy-dialogs.ts'
import { SimilarityTable } from './similarity-table.tsx'
import { summarize } from './similarity.ts'
import { useStore } from './store.ts'
import { isUsable, toSampleModel } from './targets.ts'
import { TextList } from './text-list.tsx'
import { ViewFrame } from './view-frame.tsx'
import type { ViewProps } from './view-frame.tsx'

/** Embeds a few texts with a deployment and shows their similarities. */
export function EmbeddingsView({ heading, targets, names, ids, onChoose }: ViewProps) {
  const { texts, result } = useStore(comparison, (state) => state)
  const [codeOpen, setCodeOpen] = useState(false)
  const usable = targets.filter(isUsable)
  const id = ids[0] ?? (usable.find(({ status }) => status === 'running') ?? usable[0])?.id
  if (id === undefined) {
    return (
      <ViewFrame heading={heading}>
        <NoEmbeddingDeployment />
      </ViewFrame>
    )
  }

  const target = targets.find((one) => one.id === id)
  const answers = target !== undefined && answersRequests(target)
  const written = texts.map(({ words }) => words.trim()).filter((words) => words !== '')
  return (
    <ViewFrame
      heading={heading}
      choice={<DeploymentChoice targets={targets} names={names} ids={[id]} max={1} onChoose={onChoose} />}
      actions={
        <Action
          icon={<CodeXml aria-hidden />}
          label={text.playground.viewCode}
          onClick={() => setCodeOpen(true)}
        />
      }
    >
      <div className="min-h-0 flex-1 overflow-y-auto px-4 pt-1 pb-8 sm:px-8">
        <div className="grid max-w-6xl gap-5">
          <DeploymentNotices targets={targets} names={names} ids={[id]} />
          <div className="grid items-start gap-5 xl:grid-cols-[minmax(0,2fr)_minmax(0,3fr)]">
            <TextsForm texts={texts} written={written} deployment={id} answers={answers} />
            <Section title={text.playground.similarities} flush>
              {result ? (
                <Result result={result} name={names.get(result.deploymentId) ?? text.playground.gone} />
              ) : (
                <EmptyState icon={<Grid3x3 />} title={text.playground.notCompared}>
                  {text.playground.similaritiesEmpty}
                </EmptyState>
              )}
            </Section>
          </div>
        </div>
      </div>
      <Suspense>
        {codeOpen && (
          <ViewCodeDialog
            onClose={() => setCodeOpen(false)}
            kind="embeddings"
            body={{
              model: target ? toSampleModel(target) : id,
              input: written,
            }}
          />
        )}
      </Suspense>
    </ViewFrame>
  )
}

interface TextsFormProps {
  texts: readonly ComparedText[]
  /** The texts that are not empty */
  written: string[]
  deployment: string
  /** Whether the deployment answers requests */
  answers: boolean
}

function TextsForm({ texts, written, deployment, answers }: TextsFormProps) {
  const compare = useCompare()
  const enough = written.length >= minTexts
  return (
    <Section title={text.playground.texts}>
      <form
        className="grid gap-4"
        onSubmit={(event) => {
          event.preventDefault()
          if (!answers || !enough || compare.isPending) return
          compare.mutate({ deploymentId: deployment, texts: written })
        }}
      >
        <TextList texts={texts} />
        <ErrorMessage error={compare.error} />
        <div className="flex items-center justify-end gap-3">
          {!enough && <p className="text-[0.8125rem] text-muted">{text.playground.atLeastTwo}</p>}
          <Button type="submit" variant="primary" busy={compare.isPending} disabled={!answers || !enough}>
            {text.playground.compare}
          </Button>
        </div>
      </form>
    </Section>
  )
}

function Result({ result, name }: { result: ComparisonResult; name: string }) {
  const pair = summarize(result.similarities)?.pair
  return (
    <div role="status">
      <SimilarityTable result={result} />
      <div className="grid gap-4 border-t p-5">
        <p className="text-[0.8125rem] text-muted">
          {pair && text.playground.mostAlike(pair[0] + 1, pair[1] + 1)} {text.playground.similaritiesHint}
        </p>
        <dl className="grid grid-cols-2 gap-x-6 gap-y-3 sm:grid-cols-4">
          <Figure label={text.playground.dimensions} value={formatNumber(result.dimensions)} />
          {result.tokens !== null && (
            <Figure label={text.playground.tokens} value={formatNumber(result.tokens)} />
          )}
          <Figure label={text.playground.time} value={formatDuration(result.milliseconds)} />
        </dl>
        <p className="text-xs text-muted">{name}</p>
      </div>
    </div>
  )
}

function NoEmbeddingDeployment() {
  const can = useCan()
  return (
    <EmptyState
      icon={<Grid3x3 />}
      title={can('createDeployments') ? text.playground.noEmbedding : text.playground.noModel}
      action={
        can('createDeployments') && (
          <Button asChild variant="primary">
            <Link to="/catalog" search={{ type: 'embedding' }}>
              {text.playground.toCatalog}
            </Link>
          </Button>
        )
      }
    >
      {can('createDeployments') ? text.playground.noEmbeddingMore : text.playground.mayNotDeploy}
    </EmptyState>
  )
}
