import { useMutation } from '@tanstack/react-query'
import { CodeXml, ListOrdered } from 'lucide-react'
import { Suspense, useState } from 'react'
import { callApi } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { TextArea, TextField } from '../../components/field.tsx'
import { Section } from '../../components/page.tsx'
import { Progress } from '../../components/progress.tsx'
import { EmptyState, ErrorMessage } from '../../components/states.tsx'
import type { Ranking } from '../../contract.ts'
import { answersRequests } from '../../domain/deployments/status.ts'
import { formatHundredths } from '../../format.ts'
import { text } from '../../text/index.ts'
import { Action } from './action.tsx'
import { DeploymentChoice } from './deployment-choice.tsx'
import { DeploymentNotices } from './deployment-notices.tsx'
import { ViewCodeDialog } from './lazy-parts.ts'
import { NoDeployment } from './no-deployment.tsx'
import { chooseTarget, toSampleModel } from './targets.ts'
import { ViewFrame } from './view-frame.tsx'
import type { ViewProps } from './view-frame.tsx'

const words = text.rerank

/** Ranks documents by their relevance to a query. */
export function RerankView({ heading, targets, names, ids, onChoose }: ViewProps) {
  const [query, setQuery] = useState<string>(words.exampleQuery)
  const [written, setWritten] = useState<string>(words.exampleDocuments.join('\n'))
  const [codeOpen, setCodeOpen] = useState(false)
  const rank = useRank()
  const { id, target } = chooseTarget(targets, ids)
  if (id === undefined) {
    return (
      <ViewFrame heading={heading}>
        <NoDeployment icon={<ListOrdered />} type="rerank" title={words.none} hint={words.noneHint} />
      </ViewFrame>
    )
  }
  const documents = written.split('\n').filter((line) => line.trim() !== '')
  const isReady =
    target !== undefined && answersRequests(target) && query.trim() !== '' && documents.length > 0
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
          <div className="grid items-start gap-5 xl:grid-cols-2">
            <Section title={words.request}>
              <form
                className="grid gap-4"
                onSubmit={(event) => {
                  event.preventDefault()
                  if (isReady && !rank.isPending) rank.mutate({ model: id, query, documents })
                }}
              >
                <TextField
                  dir="auto"
                  label={words.query}
                  value={query}
                  onChange={({ target: field }) => setQuery(field.value)}
                />
                <TextArea
                  dir="auto"
                  label={words.documents}
                  hint={words.documentsHint}
                  className="field-sizing-content max-h-96 min-h-32"
                  value={written}
                  onChange={({ target: field }) => setWritten(field.value)}
                />
                <ErrorMessage error={rank.error} />
                <Button
                  type="submit"
                  variant="primary"
                  className="justify-self-end"
                  busy={rank.isPending}
                  disabled={!isReady}
                >
                  {words.rank}
                </Button>
              </form>
            </Section>
            <Section title={words.ranking} flush>
              {rank.data ? (
                <Ranks {...rank.data} />
              ) : (
                <EmptyState icon={<ListOrdered />} title={words.notRanked}>
                  {words.notRankedHint}
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
            kind="rerank"
            body={{ model: target ? toSampleModel(target) : id, query, documents }}
          />
        )}
      </Suspense>
    </ViewFrame>
  )
}

/** A request; an interface would not be assignable to the API's open type. */
type RankRequest = { model: string; query: string; documents: string[] }

function useRank() {
  return useMutation({
    mutationFn: async (body: RankRequest) => ({
      documents: body.documents,
      results: (await callApi('POST', '/v1/rerank', { body })).results,
    }),
  })
}

/** The documents with their scores, which may be negative, as shares of the range. */
function Ranks({ documents, results }: Pick<RankRequest, 'documents'> & Pick<Ranking, 'results'>) {
  const scores = results.map(({ relevance_score: score }) => score)
  const [least, most] = [Math.min(0, ...scores), Math.max(1, ...scores)]
  return (
    <div role="status">
      <ol className="divide-y">
        {results.map(({ index, relevance_score: score }) => (
          <li key={index} className="grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 gap-y-1.5 px-5 py-3">
            <p dir="auto" className="wrap-anywhere">
              {documents[index]}
            </p>
            <span className="tabular text-right text-muted">{formatHundredths(score)}</span>
            <Progress
              label={words.relevanceOf(index + 1)}
              value={(score - least) / (most - least)}
              className="col-span-full"
            />
          </li>
        ))}
      </ol>
    </div>
  )
}
