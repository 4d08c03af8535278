// Sends one message, receives it, acknowledges it: ENDPOINT TOPIC BODY.
use rocketmq::conf::{ClientOption, ProducerOption, SimpleConsumerOption};
use rocketmq::model::common::{FilterExpression, FilterType};
use rocketmq::model::message::MessageBuilder;
use rocketmq::{Producer, SimpleConsumer};

#[tokio::main]
async fn main() {
    let words: Vec<String> = std::env::args().collect();
    let (endpoint, topic, body) = (&words[1], &words[2], &words[3]);
    let options = || {
        let mut option = ClientOption::default();
        option.set_access_url(endpoint.as_str());
        option.set_enable_tls(false);
        option
    };
    let mut sending = ProducerOption::default();
    sending.set_topics(vec![topic.as_str()]);
    let mut producer = Producer::new(sending, options()).unwrap();
    producer.start().await.unwrap();
    let message = MessageBuilder::builder()
        .set_topic(topic.as_str())
        .set_body(body.as_bytes().to_vec())
        .build()
        .unwrap();
    producer.send(message).await.unwrap();
    let mut receiving = SimpleConsumerOption::default();
    receiving.set_topics(vec![topic.as_str()]);
    receiving.set_consumer_group("rust");
    let mut consumer = SimpleConsumer::new(receiving, options()).unwrap();
    consumer.start().await.unwrap();
    loop {
        let all = FilterExpression::new(FilterType::Tag, "*");
        let found = consumer.receive(topic.clone(), &all).await.unwrap();
        for message in &found {
            consumer.ack(message).await.unwrap();
            println!("received {}", String::from_utf8_lossy(message.body()));
        }
        if !found.is_empty() {
            std::process::exit(0);
        }
    }
}
