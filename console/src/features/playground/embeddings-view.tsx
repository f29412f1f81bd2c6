import { Grid3x3, Plus, X } from 'lucide-react'
import { useRef } from 'react'
import { Button } from '../../components/button.tsx'
import { UnlabeledInput } from '../../components/field.tsx'
import { Figure, Section } from '../../components/page.tsx'
import { EmptyState, ErrorMessage } from '../../components/states.tsx'
import { formatDuration, formatNumber } from '../../format.ts'
import { text } from '../../text/index.ts'
import { useCompare } from './compare.ts'
import { comparison, minTexts, addText, maxTexts, removeText, setText } from './comparison.ts'
import type { ComparedText, ComparisonResult } from './comparison.ts'
import { SimilarityTable } from './similarity-table.tsx'
import { summarize } from './similarity.ts'
import { SingleView } from './single-view.tsx'
import { useStore } from './store.ts'
import type { ViewProps } from './view-frame.tsx'

/** Embeds a few texts with a deployment and shows their similarities. */
export function EmbeddingsView(props: ViewProps) {
  const { texts, result } = useStore(comparison, (state) => state)
  const written = texts.map(({ words }) => words.trim()).filter((words) => words !== '')
  return (
    <SingleView
      {...props}
      none={{
        icon: <Grid3x3 />,
        type: 'embedding',
        title: text.embeddings.noEmbedding,
        hint: text.embeddings.noEmbeddingMore,
      }}
      sample={{ kind: 'embeddings', body: { input: written } }}
      columns="xl:grid-cols-[minmax(0,2fr)_minmax(0,3fr)]"
    >
      {({ id, answers }) => (
        <>
          <TextsForm texts={texts} written={written} deployment={id} answers={answers} />
          <Section title={text.embeddings.similarities} flush>
            {result ? (
              <Result result={result} name={props.names.get(result.deploymentId) ?? text.playground.gone} />
            ) : (
              <EmptyState icon={<Grid3x3 />} title={text.embeddings.notCompared}>
                {text.embeddings.similaritiesEmpty}
              </EmptyState>
            )}
          </Section>
        </>
      )}
    </SingleView>
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
    <Section title={text.embeddings.texts}>
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
          {!enough && <p className="text-[0.8125rem] text-muted">{text.embeddings.atLeastTwo}</p>}
          <Button type="submit" variant="primary" busy={compare.isPending} disabled={!answers || !enough}>
            {text.embeddings.compare}
          </Button>
        </div>
      </form>
    </Section>
  )
}

/** The editable list of texts to compare. */
function TextList({ texts }: { texts: readonly ComparedText[] }) {
  const list = useRef<HTMLOListElement>(null)
  const focusAt = (place: number) =>
    // The list re-renders before the next frame.
    requestAnimationFrame(() => list.current?.querySelectorAll('input')[place]?.focus())
  return (
    <div className="grid justify-items-start gap-2">
      <ol ref={list} className="grid w-full gap-2">
        {texts.map(({ id, words }, place) => (
          <li key={id} className="flex items-center gap-2">
            <span aria-hidden className="tabular w-4 shrink-0 text-right text-muted">
              {place + 1}
            </span>
            <UnlabeledInput
              aria-label={text.embeddings.nthText(place + 1)}
              value={words}
              onChange={({ target }) => setText(id, target.value)}
            />
            <Button
              variant="quiet"
              size="tiny"
              aria-label={text.embeddings.removeText(place + 1)}
              disabled={texts.length <= minTexts}
              onClick={() => {
                removeText(id)
                focusAt(Math.min(place, texts.length - 2))
              }}
            >
              <X />
            </Button>
          </li>
        ))}
      </ol>
      {texts.length < maxTexts && (
        <Button
          variant="quiet"
          size="small"
          className="ml-6"
          onClick={() => {
            addText()
            focusAt(texts.length)
          }}
        >
          <Plus aria-hidden />
          {text.embeddings.addText}
        </Button>
      )}
    </div>
  )
}

function Result({ result, name }: { result: ComparisonResult; name: string }) {
  const pair = summarize(result.similarities)?.pair
  return (
    <div role="status">
      <SimilarityTable result={result} />
      <div className="grid gap-4 border-t p-5">
        <p className="text-[0.8125rem] text-muted">
          {pair && text.embeddings.mostAlike(pair[0] + 1, pair[1] + 1)} {text.embeddings.similaritiesHint}
        </p>
        <dl className="grid grid-cols-2 gap-x-6 gap-y-3 sm:grid-cols-4">
          <Figure label={text.embeddings.dimensions} value={formatNumber(result.dimensions)} />
          {result.tokens !== null && (
            <Figure label={text.embeddings.tokens} value={formatNumber(result.tokens)} />
          )}
          <Figure label={text.embeddings.time} value={formatDuration(result.milliseconds)} />
        </dl>
        <p className="text-xs text-muted">{name}</p>
      </div>
    </div>
  )
}
