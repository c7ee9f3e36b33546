// Calls the project with the npm package openai: URL KEY. Prints the results as JSON.
import OpenAI from 'openai'

const [baseURL, apiKey] = process.argv.slice(2)
const client = new OpenAI({baseURL, apiKey, maxRetries: 0})
const messages = [{role: 'user', content: 'say hello there'}]
const whole = await client.chat.completions.create({model: 'large', messages})
const chunks = []
for await (const chunk of await client.chat.completions.create({model: 'large', messages, stream: true, stream_options: {include_usage: true}})) chunks.push(chunk)
let refused = null
try {
  await client.chat.completions.create({model: 'large', messages: [{role: 'user', content: 'status 400'}]})
} catch (error) {
  refused = error.status
}
console.log(JSON.stringify({
  whole: whole.choices[0].message.content,
  streamed: chunks.map((chunk) => chunk.choices[0]?.delta.content ?? '').join(''),
  usage: chunks.at(-1).usage,
  refused,
}))
