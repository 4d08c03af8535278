// Sends one message, receives it, acknowledges it: ENDPOINT TOPIC BODY.
const { Producer, SimpleConsumer } = require('rocketmq-client-nodejs');

async function main([endpoints, topic, body]) {
  const producer = new Producer({ endpoints });
  await producer.startup();
  await producer.send({ topic, body: Buffer.from(body) });
  const subscriptions = new Map([[topic, '*']]);
  const consumer = new SimpleConsumer({ endpoints, consumerGroup: 'nodejs', subscriptions, awaitDuration: 5000 });
  await consumer.startup();
  let found = [];
  while (!found.length) found = await consumer.receive(1, 30000);
  for (const message of found) {
    await consumer.ack(message);
    console.log('received ' + message.body.toString());
  }
}

main(process.argv.slice(2)).then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
