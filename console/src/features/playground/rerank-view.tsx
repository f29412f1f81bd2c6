import { useMutation } from '@tanstack/react-query'
import { ListOrdered } from 'lucide-react'
import { useState } from 'react'
import { callApi } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { TextArea, TextField } from '../../components/field.tsx'
import { Section } from '../../components/page.tsx'
import { Progress } from '../../components/progress.tsx'
import { EmptyState, ErrorMessage } from '../../components/states.tsx'
import type { Ranking } from '../../contract.ts'
import { formatHundredths } from '../../format.ts'
import { text } from '../../text/index.ts'
import { SingleView } from './single-view.tsx'
import type { ViewProps } from './view-frame.tsx'

const words = text.rerank

/** Ranks documents by their relevance to a query. */
export function RerankView(props: ViewProps) {
  const [query, setQuery] = useState<string>(words.exampleQuery)
  const [written, setWritten] = useState<string>(words.exampleDocuments.join('\n'))
  const rank = useRank()
  const documents = written.split('\n').filter((line) => line.trim() !== '')
  return (
    <SingleView
      {...props}
      none={{ icon: <ListOrdered />, type: 'rerank', title: words.none, hint: words.noneHint }}
      sample={{ kind: 'rerank', body: { query, documents } }}
      columns="xl:grid-cols-2"
    >
      {({ id, answers }) => {
        const isReady = answers && query.trim() !== '' && documents.length > 0
        return (
          <>
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
          </>
        )
      }}
    </SingleView>
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
